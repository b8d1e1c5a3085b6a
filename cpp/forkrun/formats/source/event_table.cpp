#include <forkrun/formats/source/event_table.hpp>

#include <utility>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/rntuple/ntuple_table.hpp>
#include <forkrun/formats/ttree/read/branch_reader.hpp>
#include <forkrun/formats/ttree/read/input_tree.hpp>

namespace forkrun::root_io {

namespace {

/// The class in "other:CLASS".
std::string class_in(const std::string& described) {
  return described.substr(described.find(':') + 1);
}

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

OpenTree::OpenTree(const std::string& path, const std::string& tree)
    : file_{path}, table_{event_table(file_, tree)} {}

/// Keeps it, so that neighbouring entries are unzipped once.
ColumnReader& OpenTree::reader(const std::string& name) {
  auto& reader = readers_[name];
  if (!reader) {
    reader = table_->reader(name);
  }
  if (!reader->type()) {
    throw InputError(file_.path() + ": branch \"" + name + "\" is of type " +
                     class_in(reader->described_type()) +
                     " and cannot be read as a column, only passed through to an output");
  }
  return *reader;
}

std::vector<Column> OpenTree::read(const std::vector<std::string>& names, std::int64_t first,
                                   std::int64_t last) {
  return naming_file(file_.path(), [&] {
    const auto n_entries = table_->n_entries();
    const auto end = last < 0 ? n_entries : last;
    if (first < 0 || first > end || end > n_entries) {
      throw InputError(file_.path() + ": no entries " + std::to_string(first) + " to " +
                       std::to_string(end) + "; the tree has " + std::to_string(n_entries));
    }
    std::vector<Column> columns;
    for (const auto& name : names) {
      reader(name).read(first, end, columns.emplace_back());
    }
    return columns;
  });
}

}  // namespace forkrun::root_io
