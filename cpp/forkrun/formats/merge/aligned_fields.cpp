#include <forkrun/formats/merge/aligned_fields.hpp>

#include <algorithm>
#include <iterator>

#include <forkrun/bytes/in_parallel.hpp>

namespace forkrun::root_io {

void AlignedFields::add_to(OutputContent& content) const {
  content.branches = kept;
  for (const auto& [name, type, counter] : written) {
    content.products.push_back({name, type});
    content.counters[name] = counter.value_or("");
  }
}

AlignedColumns::AlignedColumns(const AlignedFields& fields, const Table& table) : table_{table} {
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

double AlignedColumns::bytes_per_event() const {
  double n_bytes = 0;
  for (const auto& written : written_) {
    n_bytes += written.reader ? static_cast<double>(written.reader->n_bytes()) : 0;
  }
  return std::max(n_bytes / std::max(1.0, static_cast<double>(table_.n_entries())), 1.0);
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

}  // namespace forkrun::root_io
