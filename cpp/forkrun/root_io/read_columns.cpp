#include <forkrun/root_io/read_columns.hpp>

#include <TTree.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/root_io/branch_reader.hpp>
#include <forkrun/root_io/event_ids.hpp>

namespace forkrun::root_io {

std::vector<Column> read_columns(const std::string& path, const std::string& tree_name,
                                 const std::vector<std::string>& names, std::int64_t first,
                                 std::int64_t last) {
  InputFile file{path};
  TTree& tree = file.tree(tree_name);
  const auto end = last < 0 ? static_cast<std::int64_t>(tree.GetEntries()) : last;
  if (first < 0 || first > end || end > tree.GetEntries()) {
    throw InputError(path + ": there are no entries " + std::to_string(first) + " to " +
                     std::to_string(end) + "; the tree has " + std::to_string(tree.GetEntries()));
  }
  std::vector<Column> columns(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    BranchReader reader{find_branch(tree, names[i], file), file};
    if (!reader.layout().column) {
      throw InputError(path + ": branch \"" + names[i] + "\" is of type " +
                       reader.layout().type_name +
                       " and cannot be read as a column, only passed through to an output");
    }
    reader.read(first, end, columns[i]);
  }
  return columns;
}

}  // namespace forkrun::root_io
