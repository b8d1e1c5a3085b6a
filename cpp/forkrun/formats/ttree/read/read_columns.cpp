#include <forkrun/formats/ttree/read/read_columns.hpp>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/ttree/read/branch_reader.hpp>

namespace forkrun::root_io {

namespace {

Column read_column(const InputTree& tree, TreeFile& file, const std::string& name,
                   std::int64_t first, std::int64_t last) {
  BranchReader reader{tree.branch(name), file};
  if (!reader.layout().column) {
    throw InputError(file.path() + ": branch \"" + name + "\" is of type " +
                     reader.layout().type_name +
                     " and cannot be read as a column, only passed through to an output");
  }
  Column column;
  reader.read(first, last, column);
  return column;
}

}  // namespace

OpenTree::OpenTree(const std::string& path, const std::string& tree)
    : file_{path}, tree_{file_.input_tree(tree)} {}

std::vector<Column> OpenTree::read(const std::vector<std::string>& names, std::int64_t first,
                                   std::int64_t last) {
  return naming_file(file_.path(), [&] {
    const auto n_entries = tree_.n_entries();
    const auto end = last < 0 ? n_entries : last;
    if (first < 0 || first > end || end > n_entries) {
      throw InputError(file_.path() + ": no entries " + std::to_string(first) + " to " +
                       std::to_string(end) + "; the tree has " + std::to_string(n_entries));
    }
    std::vector<Column> columns;
    for (const auto& name : names) {
      columns.push_back(read_column(tree_, file_, name, first, end));
    }
    return columns;
  });
}

}  // namespace forkrun::root_io
