#include <forkrun/formats/rntuple/output/kept_columns.hpp>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include <forkrun/bytes/in_parallel.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/rntuple/ntuple_table.hpp>
#include <forkrun/formats/rntuple/write/new_fields.hpp>
#include <forkrun/formats/ttree/read/form_values.hpp>

namespace forkrun::rntuple {

namespace {

constexpr std::int64_t most_read = 1 << 13;  ///< entries at once

std::vector<EntryRun> runs_to_read(std::span<const EntryRange> entries) {
  std::vector<EntryRun> runs;
  for (const auto& range : entries) {
    for (auto first = range.first; first < range.last; first += most_read) {
      runs.push_back({first, std::min(first + most_read, range.last)});
    }
  }
  return runs;
}

/// The type of a column, none where the first entries are not as the file describes them.
std::optional<ColumnType> readable_type(ColumnReader& reader, std::int64_t n_entries) {
  constexpr std::int64_t n_tried = 16;
  const auto type = reader.type();
  try {
    Column values;
    if (type && n_entries > 0) {
      reader.read(0, std::min(n_tried, n_entries), values);
    }
  } catch (const root_io::NotAsDescribed&) {
    return {};
  } catch (const InputError&) {  // passed over: a damaged basket is found by who reads it
    return type;
  }
  return type;
}

}  // namespace

KeptColumns::KeptColumns(NtupleInput& input, const std::vector<std::string>& names)
    : input_{input} {
  const auto first = input_.open(input_.first_with_events());
  const std::set<std::string> all{names.begin(), names.end()};
  for (const auto& name : names) {
    const auto reader = first->table->reader(name);
    if (const auto type = readable_type(*reader, first->table->n_entries())) {
      kept_.push_back({{name, *type, reader->counter()}});
    } else if (const auto member = all.lower_bound(name + ".");
               member == all.end() || !member->starts_with(name + ".")) {
      left_out_.push_back(name);
    }
  }
}

void KeptColumns::add_to(NewFields& fields) {
  std::vector<NewField> wanted;
  std::ranges::transform(kept_, std::back_inserter(wanted), &Kept::field);
  auto places = fields.add(wanted);
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    kept_[i].place = std::move(places[i]);
  }
}

void KeptColumns::open(std::uint32_t file) {
  auto opened = input_.open(file);
  if (opened == opened_) {
    return;
  }
  for (auto& kept : kept_) {
    kept.reader = opened->table->reader(kept.field.name);
    const bool is_count = !kept.place.values;  // which lists say themselves
    if (!is_count && kept.reader->type() != kept.field.type) {
      throw InputError(opened->file->path() + ": branch \"" + kept.field.name + "\" is " +
                       kept.reader->described_type() + ", in the first file it is " +
                       kept.field.type.name());
    }
  }
  opened_ = std::move(opened);
}

double KeptColumns::bytes_per_event(std::uint32_t file) {
  open(file);
  double n_bytes = 0;
  for (const auto& kept : kept_) {
    n_bytes += static_cast<double>(kept.reader->n_bytes());
  }
  return n_bytes / std::max(1.0, static_cast<double>(opened_->table->n_entries()));
}

void KeptColumns::add_parts(const EntryRange& cluster, std::vector<StoredPart>& to) {
  open(cluster.file);
  for (const auto& kept : kept_) {
    kept.reader->add_parts(cluster.first, cluster.last, to);
  }
}

void KeptColumns::add(std::span<const EntryRange> entries, std::span<PendingColumn> columns,
                      std::size_t n_threads) {
  open(entries.front().file);
  const auto runs = runs_to_read(entries);
  root_io::naming_file(opened_->file->path(), [&] {
    in_parallel(kept_.size(), n_threads, [&](std::size_t i) {
      if (kept_[i].place.values) {
        add(kept_[i], runs, columns);
      }
    });
  });
  require_same_counts(columns);
}

/// Entries that are near each other are read at once, and those between them with them.
void KeptColumns::add(Kept& kept, std::span<const EntryRun> runs,
                      std::span<PendingColumn> columns) {
  for (auto first = runs.begin(); first != runs.end();) {
    auto end = first + 1;
    while (end != runs.end() && (end - 1)->last <= end->first &&
           end->last <= first->first + most_read) {
      ++end;
    }
    kept.reader->read(first->first, (end - 1)->last, kept.values);
    for (const auto begin = first->first; first != end; ++first) {
      add_events(kept.values, {first->first - begin, first->last - begin}, kept.place, columns);
    }
  }
}

/// A damaged file may have others for columns of one counter.
void KeptColumns::require_same_counts(std::span<PendingColumn> columns) const {
  for (const auto& kept : kept_) {
    if (!kept.place.values || !kept.place.shares_ends) {
      continue;
    }
    const auto n_items = columns[*kept.place.values].n_values() / kept.field.type.n_in_item();
    if (std::cmp_not_equal(columns[kept.place.ends[0]].last_end(), n_items)) {
      throw InputError(opened_->file->path() + ": branch \"" + kept.field.name +
                       "\" has other numbers of values than its counter \"" + kept.field.counter +
                       "\" says: the file is damaged");
    }
  }
}

}  // namespace forkrun::rntuple
