#include <forkrun/formats/source/event_table.hpp>

#include <utility>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/rntuple/ntuple_in_file.hpp>
#include <forkrun/formats/ttree/read/branch_reader.hpp>
#include <forkrun/formats/ttree/read/input_tree.hpp>

namespace forkrun::root_io {

namespace {

/// A tree, with branches as columns.
class TableOfTree final : public Table {
 public:
  explicit TableOfTree(TreeFile& file, const std::string& path)
      : Table{path}, file_{file}, tree_{file.input_tree(path)} {}

  [[nodiscard]] std::int64_t n_entries() const override { return tree_.n_entries(); }
  [[nodiscard]] bool has(const std::string& column) const override {
    return tree_.has_column(column);
  }
  [[nodiscard]] std::unique_ptr<ColumnReader> reader(const std::string& column) const override {
    return std::make_unique<BranchReader>(tree_.column(column), file_);
  }

 private:
  TreeFile& file_;
  const InputTree& tree_;
};

}  // namespace

std::unique_ptr<Table> event_table(TreeFile& file, const std::string& path) {
  if (auto ntuple = rntuple::ntuple_in(file, path)) {
    return ntuple;
  }
  return std::make_unique<TableOfTree>(file, path);
}

std::unique_ptr<ColumnReader> column_reader(const Table& table, const std::string& path,
                                            const std::string& name, ColumnType wanted) {
  auto reader = table.reader(name);
  if (reader->type() != wanted) {
    throw InputError(path + ": branch \"" + name + "\" is " + reader->described_type() +
                     ", in the first file it is " + wanted.name());
  }
  return reader;
}

}  // namespace forkrun::root_io
