#include <forkrun/formats/ttree/merge/ntuples_as_trees.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <utility>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/rntuple/ntuple_in_file.hpp>
#include <forkrun/formats/root_file/output_file.hpp>
#include <forkrun/formats/ttree/origins/origin_record.hpp>
#include <forkrun/formats/ttree/read/ntuple_branches.hpp>
#include <forkrun/formats/ttree/write/plain_tree.hpp>
#include <forkrun/formats/ttree/write/tree_writer.hpp>

namespace forkrun::root_io {

namespace {

constexpr std::int64_t rows_at_once = 1 << 16;

void write_as_tree(const rntuple::NtupleTable& ntuple, const std::string& path,
                   Compression compression, OutputMode mode) {
  TreeWriter writer{path, ntuple.name(), ntuple_branches(ntuple), compression, ntuple.name(), mode};
  std::vector<std::unique_ptr<ColumnReader>> readers;
  for (const auto& column : writer.columns()) {
    readers.push_back(ntuple.reader(column.name));
  }
  std::vector<Column> rows(readers.size());
  for (std::int64_t first = 0; first < ntuple.n_entries(); first += rows_at_once) {
    const auto last = std::min(first + rows_at_once, ntuple.n_entries());
    for (std::size_t i = 0; i < readers.size(); ++i) {
      readers[i]->read(first, last, rows[i]);
    }
    writer.write(rows);
  }
  writer.close();
}

void add_origins(const std::string& path, const OriginsByPath& origins, Compression compression) {
  if (const auto plain = reopen_with_trees(path)) {
    write_origins(*plain, origins, compression);
    plain->close();
    return;
  }
  OutputFile file{path, compression, OutputMode::update};
  write_origins(file, origins, compression);
  file.close();
}

}  // namespace

NtuplesAsTrees::NtuplesAsTrees(TreeFile& file, const std::set<std::string>& exclude,
                               const std::string& path)
    : input_{file.path()}, path_{path} {
  const auto compression = file.compression();
  OriginsByPath origins;
  for (const auto& name : ntuple_names(file)) {
    const auto ntuple = exclude.contains(name) ? nullptr : rntuple::ntuple_in(file, name);
    if (!ntuple) {
      continue;
    }
    const auto mode = names_.empty() ? OutputMode::create : OutputMode::update;
    names_.push_back(name);
    naming_file(file.path(), [&] { write_as_tree(*ntuple, path, compression, mode); });
    const auto own = Origin::of(file.identity().uuid, file.identity().n_bytes);
    origins[name] = {{own, ntuple->n_entries()}};
  }
  if (!names_.empty()) {
    if (const auto before = read_origins(file)) {
      for (auto& [name, rows] : origins) {
        const auto known = before->find(name);
        rows = known == before->end() ? rows : known->second;
      }
    }
    add_origins(path, origins, compression);
  }
}

NtuplesAsTrees::~NtuplesAsTrees() {
  if (!names_.empty()) {
    std::remove(path_.c_str());
  }
}

}  // namespace forkrun::root_io
