#include <forkrun/formats/ttree/read/read_columns.hpp>

#include <forkrun/core/data/errors.hpp>

namespace forkrun::root_io {

OpenTree::OpenTree(const std::string& path, const std::string& tree)
    : file_{path}, tree_{file_.input_tree(tree)} {}

/// Keeps it, so that entries that are asked for one after the other are unzipped once.
BranchReader& OpenTree::reader(const std::string& name) {
  auto& reader = readers_[name];
  if (!reader) {
    reader = std::make_unique<BranchReader>(tree_.branch(name), file_);
  }
  if (!reader->layout().column) {
    throw InputError(file_.path() + ": branch \"" + name + "\" is of type " +
                     reader->layout().type_name +
                     " and cannot be read as a column, only passed through to an output");
  }
  return *reader;
}

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
      reader(name).read(first, end, columns.emplace_back());
    }
    return columns;
  });
}

}  // namespace forkrun::root_io
