#include <forkrun/formats/merge/aligned_fields.hpp>

#include <algorithm>
#include <iterator>
#include <thread>

#include <forkrun/bytes/in_parallel.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/index/tree_index.hpp>
#include <forkrun/formats/source/event_table.hpp>
#include <forkrun/formats/ttree/output/kept_input.hpp>
#include <forkrun/formats/ttree/read/input_tree.hpp>

namespace forkrun::root_io {

void AlignedFields::add_to(OutputContent& content) const {
  content.branches = kept;
  for (const auto& [name, type, counter] : written) {
    content.products.push_back({name, type});
    content.counters[name] = counter.value_or("");
  }
}

AlignedColumns::AlignedColumns(const AlignedFields& fields, const Table& table) {
  for (const auto& [name, type, counter] : fields.written) {
    auto& written = written_.emplace_back(type);
    if (table.has(name)) {
      written.reader = table.reader(name);
      continue;
    }
    const bool is_counted = counter && !counter->empty() && table.has(*counter);
    written.filled.emplace(type, 0, is_counted ? table.reader(*counter) : nullptr);
  }
}

void AlignedColumns::Written::read(const EntryRange& entries, Column& into) {
  if (filled) {
    filled->read(entries.first, entries.last, into);
  } else if (reader->type() == type) {
    reader->read(entries.first, entries.last, into);
  } else {
    reader->read(entries.first, entries.last, stored);
    widen(stored, type, into);
  }
}

std::vector<NewValues> AlignedColumns::read(std::span<const EntryRange> entries,
                                            std::size_t n_threads) {
  columns_.resize(std::max(columns_.size(), entries.size()));
  std::vector<NewValues> values;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    auto& columns = columns_[i];
    columns.resize(written_.size());
    in_parallel(written_.size(), n_threads,
                [&](std::size_t column) { written_[column].read(entries[i], columns[column]); });
    values.push_back({&columns, {0, entries[i].last - entries[i].first}});
  }
  return values;
}

void write_aligned(const AlignedTree& from, const AlignedFields& fields, const std::string& to,
                   bool is_there, Compression compression, BasketCheck::Depth check) {
  TreeFile file{from.file};
  TreeSourceConfig source;
  source.tree = from.tree;
  source.files = {from.file};
  const auto& tree = file.input_tree(from.tree);
  source.clusters = {clusters_of(tree.branches(), tree.n_entries())};
  OutputContent content;
  content.compression = compression;
  content.tree = from.path;
  content.goes_with_events = is_there;
  fields.add_to(content);
  SharedInput input{source, check, {}};
  const auto n_threads = std::thread::hardware_concurrency();
  const auto make_table = input.tables(content, n_threads);
  const auto table = make_table(to);
  const auto events = event_table(file, from.tree);
  AlignedColumns columns{fields, *events};
  MergeSink sink{*table, [&](auto entries) {
                   return naming_file(from.file, [&] { return columns.read(entries, n_threads); });
                 }};
  ClusterCutter cutter{table->wanted_cluster_bytes(), table->keeps_whole(),
                       [&](std::uint32_t number) -> InputClusters {
                         return {input.clusters(number), table->bytes_per_event(number)};
                       },
                       sink};
  cutter.add({0, 0, tree.n_entries()});
  cutter.end_input_cluster();
  cutter.finish();
  table->finish();
  table->check();
}

}  // namespace forkrun::root_io
