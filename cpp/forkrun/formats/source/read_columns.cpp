#include <forkrun/formats/source/read_columns.hpp>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/source/event_table.hpp>

namespace forkrun::root_io {

namespace {

/// The class in "other:CLASS".
std::string class_in(const std::string& described) {
  return described.substr(described.find(':') + 1);
}

}  // namespace

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
