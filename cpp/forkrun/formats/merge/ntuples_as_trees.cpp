#include <forkrun/formats/merge/ntuples_as_trees.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <utility>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/index/ntuple_branches.hpp>
#include <forkrun/formats/merge/origins.hpp>
#include <forkrun/formats/rntuple/ntuple_table.hpp>
#include <forkrun/formats/source/event_table.hpp>
#include <forkrun/formats/table/output_table.hpp>
#include <forkrun/formats/ttree/write/root_tree.hpp>
#include <forkrun/formats/ttree/write/tree_writer.hpp>

namespace forkrun::root_io {

namespace {

/// A cluster of the tree.
std::int64_t rows_at_once(const rntuple::NtupleTable& ntuple,
                          std::span<const std::unique_ptr<ColumnReader>> readers) {
  double n_bytes = 1;
  for (const auto& reader : readers) {
    n_bytes += static_cast<double>(reader->n_bytes());
  }
  const auto of_row = n_bytes / std::max(1.0, static_cast<double>(ntuple.n_entries()));
  return std::max<std::int64_t>(1, std::llround(wanted_cluster_bytes(readers.size()) / of_row));
}

void write_as_tree(const rntuple::NtupleTable& ntuple, const std::string& path,
                   Compression compression, OutputMode mode) {
  TreeWriter writer{path, ntuple.name(), ntuple_branches(ntuple), compression, ntuple.name(), mode};
  std::vector<std::unique_ptr<ColumnReader>> readers;
  for (const auto& column : writer.columns()) {
    readers.push_back(ntuple.reader(column.name));
  }
  std::vector<Column> rows(readers.size());
  const auto step = rows_at_once(ntuple, readers);
  for (std::int64_t first = 0; first < ntuple.n_entries(); first += step) {
    const auto last = std::min(first + step, ntuple.n_entries());
    for (std::size_t i = 0; i < readers.size(); ++i) {
      readers[i]->read(first, last, rows[i]);
    }
    writer.write(rows);
  }
  writer.close();
}

void add_origins(const std::string& path, const OriginsByPath& origins, Compression compression) {
  const auto file = open_for_additions(path, compression);
  write_origins(*file, origins, compression);
  file->close();
}

}  // namespace

std::string path_of_trees(const std::string& output, std::size_t input, MadeOf made_of) {
  return output + "." + std::to_string(input) +
         (made_of == MadeOf::ntuples ? ".ntuples" : ".fields");
}

std::string with_inputs(std::string text, const std::vector<std::string>& inputs,
                        const std::string& output) {
  for (std::size_t number = 0; number < inputs.size(); ++number) {
    for (const auto made_of : {MadeOf::ntuples, MadeOf::fields}) {
      const auto trees = path_of_trees(output, number, made_of);
      for (auto at = text.find(trees); at != std::string::npos; at = text.find(trees)) {
        text.replace(at, trees.size(), inputs[number]);
      }
    }
  }
  return text;
}

NtuplesAsTrees::NtuplesAsTrees(TreeFile& file,
                               const std::function<bool(const std::string&)>& is_wanted,
                               const std::string& path, OriginsOf origins_of)
    : path_{path} {
  const auto compression = file.compression();
  OriginsByPath origins;
  for (const auto& name : ntuple_names(file)) {
    const auto ntuple = is_wanted(name) ? rntuple::ntuple_in(file, name) : nullptr;
    if (!ntuple) {
      continue;
    }
    const auto mode = names_.empty() ? OutputMode::create : OutputMode::update;
    names_.push_back(name);
    has_empty_ = has_empty_ || ntuple->n_entries() == 0 || ntuple->columns().empty();
    naming_file(file.path(), [&] { write_as_tree(*ntuple, path, compression, mode); });
    const auto own = Origin::of(file.identity().uuid, file.identity().n_bytes);
    origins[name] = {{own, ntuple->n_entries()}};
  }
  if (names_.empty()) {
    return;
  }
  const auto before = read_origins(file);
  const auto is_carried = [&](const auto& tree) { return before && before->contains(tree.first); };
  for (auto& tree : origins) {
    tree.second = is_carried(tree) ? before->at(tree.first) : tree.second;
  }
  if (origins_of == OriginsOf::carried) {
    std::erase_if(origins, [&](const auto& tree) { return !is_carried(tree); });
  }
  if (!origins.empty()) {
    add_origins(path, origins, compression);
  }
}

NtuplesAsTrees::~NtuplesAsTrees() {
  if (!names_.empty()) {
    std::remove(path_.c_str());
  }
}

AlignedTrees::AlignedTrees(
    TreeFile& file, const NtuplesAsTrees& ntuples,
    const std::map<std::string, AlignedFields>& fields,
    const std::function<std::optional<std::string>(const std::string&)>& asked,
    const std::string& path, Compression compression, BasketCheck::Depth check) {
  const auto before = fields.empty() ? std::nullopt : read_origins(file);
  OriginsByPath origins;
  for (const auto& [name, is_ntuple] :
       fields.empty() ? std::vector<StoredTable>{} : stored_tables(file)) {
    const auto wanted = fields.contains(name) ? asked(name) : std::nullopt;
    if (!wanted || event_table(file, *wanted)->n_entries() == 0) {
      continue;
    }
    const auto from = is_ntuple ? AlignedTree{ntuples.path(), name, name}
                                : AlignedTree{file.path(), *wanted, name};
    const bool is_there = path_.has_value();
    path_ = path;
    write_aligned(from, fields.at(name), path, is_there, compression, check);
    if (before && before->contains(name)) {
      origins[name] = before->at(name);
    }
  }
  if (!origins.empty()) {
    add_origins(path, origins, compression);
  }
}

AlignedTrees::~AlignedTrees() {
  if (path_) {
    std::remove(path_->c_str());
  }
}

}  // namespace forkrun::root_io
