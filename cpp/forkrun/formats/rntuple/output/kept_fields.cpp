#include <forkrun/formats/rntuple/output/kept_fields.hpp>

#include <algorithm>
#include <utility>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/rntuple/page_values.hpp>
#include <forkrun/formats/rntuple/write/new_fields.hpp>
#include <forkrun/fragments/least_copied.hpp>

namespace forkrun::rntuple {

namespace {

/// Each takes 24 bytes.
constexpr std::size_t most_item_ranges = 1U << 20U;

/// Remedy that merges have.
constexpr auto remedy =
    "; --fields union fills what is missing, --fields common leaves it out (of forkrun merge)";

std::size_t depth_of(const Schema& schema, std::size_t column) {
  std::size_t depth = 0;
  for (auto field = schema.columns[column].field; schema.fields[field].parent != field; ++depth) {
    field = schema.fields[field].parent;
  }
  return depth;
}

std::vector<ItemRange> values_of(std::span<const ItemRange> items, std::uint64_t n_in_item) {
  std::vector<ItemRange> values;
  for (const auto& each : items) {
    values.push_back(values_in(each, n_in_item));
  }
  return values;
}

const NtupleTable& ntuple_of(const OpenTable& file) {
  const auto* table = dynamic_cast<const NtupleTable*>(file.table.get());
  if (table == nullptr) {
    throw InputError(file.file->path() + ": \"" + file.table->name() +
                     "\" is a tree, and an RNTuple in the first file; forkrun convert makes them "
                     "one or the other");
  }
  return *table;
}

/// Errors name file and RNTuple.
template <typename Body>
auto naming_ntuple(const OpenTable& file, Body body) {
  try {
    return body();
  } catch (const InputError&) {
    throw;
  } catch (const Error& error) {
    throw InputError(file.file->path() + ": RNTuple \"" + file.table->name() +
                     "\": " + error.what());
  }
}

}  // namespace

KeptFields::KeptFields(Schema schema, PageTreatment treatment)
    : schema_{std::move(schema)},
      treatment_{treatment},
      noted_(schema_.columns.size() + 1),
      n_noted_(schema_.columns.size() + 1) {
  for (std::uint32_t column = 0; column < schema_.columns.size(); ++column) {
    stored_.push_back({owner_of(schema_, column), path_of(schema_, schema_.columns[column].field)});
    if (is_ends(column)) {
      ends_.push_back(column);
    }
  }
  std::ranges::stable_sort(ends_, {}, [&](auto column) { return depth_of(schema_, column); });
}

void KeptFields::open(std::shared_ptr<const OpenTable> file) {
  table_ = &ntuple_of(*file);
  bytes_.forget();
  naming_ntuple(*file, [&] {
    columns_ = find_columns(table_->ntuple());
    for (std::size_t i = 0; i < stored_.size(); ++i) {
      auto& stored = stored_[i];
      PageReader::Of of{
          &table_->ntuple(), &table_->file(), stored.path, columns_->columns[i], {}, &bytes_};
      if (!stored.owner.ends && !stored.owner.is_alternative) {
        of.n_in_entry = stored.owner.n_in_item;
      }
      stored.open(of, schema_.columns[i]);
    }
  });
  file_ = std::move(file);
}

/// Readers are kept from file to file: making a thousand of them takes as long as reading some
/// pages.
void KeptFields::Stored::open(const PageReader::Of& of, const StoredColumn& column) {
  if (pages) {
    pages->open(of);
  } else {
    pages = std::make_unique<PageReader>(of, column);
  }
  if (lists) {
    lists->open(of);
  } else if (is_index(column.encoding)) {
    lists = std::make_unique<ListReader>(of);
  }
}

std::shared_ptr<const KeptFields::FoundColumns> KeptFields::find_columns(const Ntuple& ntuple) {
  if (!found_ || found_->in != ntuple.description) {
    try {
      found_ = std::make_shared<const FoundColumns>(
          FoundColumns{ntuple.description, stored_columns(schema_, ntuple.schema())});
      if (treatment_.has_all_fields) {
        require_no_others(schema_, ntuple.schema());
      }
    } catch (const Error& error) {
      found_.reset();
      throw Error(error.what() + std::string{treatment_.has_all_fields ? remedy : ""});
    }
  }
  return found_;
}

double KeptFields::bytes_per_event(const OpenTable& file) {
  const auto& ntuple = ntuple_of(file).ntuple();
  const auto found = naming_ntuple(file, [&] { return find_columns(ntuple); });
  double n_bytes = 0;
  for (const auto& cluster : ntuple.clusters) {
    for (std::size_t i = 0; i < found->columns.size(); ++i) {
      for (const auto number : found->columns[i]) {
        const auto n_values =
            number < cluster.columns.size() ? cluster.columns[number].n_values : std::uint64_t{};
        n_bytes += static_cast<double>(packed_bytes(schema_.columns[i], n_values));
      }
    }
  }
  return n_bytes / std::max(1.0, static_cast<double>(ntuple.n_entries));
}

void KeptFields::add_parts(const EntryRange& cluster, std::vector<StoredPart>& to) const {
  for (const auto& entries : table_->item_ranges(cluster.first, cluster.last)) {
    for (const auto& stored : stored_) {
      stored.pages->add_parts(entries, to);
    }
  }
}

void KeptFields::note(std::size_t place, std::span<const ItemRange> items) {
  auto& noted = noted_[place];
  for (const auto& each : items) {
    if (each.first == each.last) {
      continue;
    }
    n_noted_[place] += static_cast<double>(each.last - each.first);
    if (!noted.empty() && noted.back().cluster == each.cluster && noted.back().last == each.first) {
      noted.back().last = each.last;
    } else {
      noted.push_back(each);
      ++n_item_ranges_;
    }
  }
}

void KeptFields::add(std::span<const EntryRange> entries, std::span<PendingColumn> columns) {
  std::vector<ItemRanges> items(noted_.size());
  for (const auto& range : entries) {
    const auto parts = table_->item_ranges(range.first, range.last);
    items[0].insert(items[0].end(), parts.begin(), parts.end());
  }
  for (const auto& part : items[0]) {
    if (part.last - part.first == table_->ntuple().clusters[part.cluster].n_entries) {
      bytes_.read(table_->ntuple().clusters[part.cluster], columns_->columns, table_->file());
    }
  }
  for (const auto column : ends_) {
    const auto& owner = stored_[column].owner;
    const auto lists =
        stored_[column].lists->read(values_of(items[place_of(owner)], owner.n_in_item));
    add_ends(lists->offsets, columns[column]);
    items[column + 1] = lists->items;
  }
  for (std::size_t place = 0; place < items.size(); ++place) {
    note(place, items[place]);
  }
}

void KeptFields::add_whole(const EntryRange& cluster) {
  whole_ = table_->item_ranges(cluster.first, cluster.last).at(0).cluster;
}

double KeptFields::n_bytes(std::size_t column) const {
  const auto& owner = stored_[column].owner;
  const auto size = static_cast<double>(size_of(stored_element(schema_.columns[column])));
  if (whole_) {
    return static_cast<double>(stored_[column].pages->n_values(*whole_)) * size;
  }
  return is_ends(column) ? 0
                         : n_noted_[place_of(owner)] * static_cast<double>(owner.n_in_item) * size;
}

double KeptFields::n_bytes() const {
  double n = 0;
  for (std::size_t column = 0; column < stored_.size(); ++column) {
    n += n_bytes(column);
  }
  return n;
}

bool KeptFields::is_full() const { return n_item_ranges_ > most_item_ranges; }

const PagesOfColumn* KeptFields::pages_to_copy(std::size_t column, std::size_t cluster) const {
  const auto* pages = stored_[column].pages->pages_as_wanted(cluster);
  const bool is_wanted =
      pages != nullptr && (!treatment_.compression ||
                           std::cmp_equal(treatment_.compression->settings(), pages->compression));
  return is_wanted ? pages : nullptr;
}

bool KeptFields::is_worth_copying(const PagesOfColumn& pages, const PendingColumn& to) const {
  std::uint64_t n_bytes = 0;
  for (const auto& page : pages.pages) {
    n_bytes += page.where.n_bytes;
  }
  const auto least = to.n_values() > 0 ? least_copied::page_after_values : least_copied::page;
  return treatment_.joins_pages &&
         forkrun::is_worth_copying(static_cast<double>(n_bytes),
                                   static_cast<double>(pages.pages.size()), least);
}

bool KeptFields::is_copied(std::size_t column) const {
  return whole_ && pages_to_copy(column, *whole_) != nullptr;
}

/// Checks them as is wanted. Calls with number of values and bytes of each page.
template <typename TakePage>
void KeptFields::for_each_sealed(std::size_t column, std::size_t cluster,
                                 const PagesOfColumn& pages, TakePage take_page) {
  auto& reader = *stored_[column].pages;
  for (std::size_t i = 0; i < pages.pages.size(); ++i) {
    if (treatment_.unpacks_copied) {
      reader.unpack(cluster, i);
    }
    take_page(pages.pages[i].n_values, reader.sealed(cluster, i));
  }
}

void KeptFields::copy(std::size_t column,
                      const std::function<void(const SealedPage&, int)>& take_page) {
  const auto cluster = whole_.value();
  const auto& pages = *pages_to_copy(column, cluster);
  for_each_sealed(column, cluster, pages,
                  [&](std::uint32_t n_values, std::span<const std::byte> sealed) {
                    take_page({n_values, {}, sealed}, static_cast<int>(pages.compression));
                  });
  stored_[column].pages->forget();
}

void KeptFields::take(std::size_t column, PendingColumn& to) {
  auto& reader = *stored_[column].pages;
  const auto& owner = stored_[column].owner;
  if (whole_) {
    if (schema_.columns[column].encoding == Encoding::switched) {
      throw InputError(path() + ": " + reader.path() +
                       " is a variant: its pages are copied as they are, and can be neither "
                       "recompressed nor stored in another way");
    }
    const auto n = reader.n_values(*whole_);
    reader.read({*whole_, 0, n}, to.extend(n));
  } else if (!is_ends(column)) {
    const auto& items = noted_[place_of(owner)];
    owner.n_in_item == 1 ? take(items, column, to)
                         : take(values_of(items, owner.n_in_item), column, to);
  }
  reader.forget();
}

/// Ranges whose pages are neither copied nor compared are read at once.
void KeptFields::take(std::span<const ItemRange> item_ranges, std::size_t column,
                      PendingColumn& to) {
  auto first = item_ranges.begin();
  for (auto each = first; each != item_ranges.end(); ++each) {
    if (const auto* pages = pages_of_whole(*each, column)) {
      read({first, each}, column, to);
      take_whole(*each, *pages, column, to);
      first = each + 1;
    }
  }
  read({first, item_ranges.end()}, column, to);
}

void KeptFields::read(std::span<const ItemRange> item_ranges, std::size_t column,
                      PendingColumn& to) {
  std::uint64_t n = 0;
  for (const auto& each : item_ranges) {
    stored_[column].pages->require(each);  // before memory is taken
    n += each.last - each.first;
  }
  if (n > 0) {
    stored_[column].pages->read(item_ranges, to.extend(n));
    stored_[column].last_page.clear();
  }
}

/// The pages that may be copied of a cluster, if these are all of its values; else null.
const PagesOfColumn* KeptFields::pages_of_whole(const ItemRange& item_range,
                                                std::size_t column) const {
  const auto n_values = stored_[column].pages->n_values(item_range.cluster);
  return item_range.last - item_range.first == n_values ? pages_to_copy(column, item_range.cluster)
                                                        : nullptr;
}

void KeptFields::take_whole(const ItemRange& item_range, const PagesOfColumn& pages,
                            std::size_t column, PendingColumn& to) {
  auto& stored = stored_[column];
  if (is_worth_copying(pages, to)) {
    for_each_sealed(column, item_range.cluster, pages,
                    [&](std::uint32_t n_values, std::span<const std::byte> sealed) {
                      to.add_page(n_values, sealed);
                    });
    stored.last_page.clear();
  } else if (pages.pages.size() == 1 &&
             static_cast<double>(pages.pages[0].where.n_bytes) < least_copied::page_after_values) {
    take_small(item_range, stored, to);
  } else {
    read({&item_range, 1}, column, to);
  }
}

/// Takes a page that equals the last one only once more: that of most triggers, and of columns that
/// simulation leaves empty, is the same in each file.
void KeptFields::take_small(const ItemRange& item_range, Stored& stored, PendingColumn& to) {
  const auto n = item_range.last - item_range.first;
  const auto sealed = stored.pages->sealed(item_range.cluster, 0, stored.last_page);
  if (n == stored.n_in_last_page && n <= to.n_values() && are_same(sealed, stored.last_page)) {
    to.repeat_last(n);
    return;
  }
  stored.last_page.assign(sealed.begin(), sealed.end());
  stored.n_in_last_page = n;
  stored.pages->decode_sealed(0, sealed, to.extend(n));
}

void KeptFields::forget() {
  for (auto& noted : noted_) {
    noted.clear();
  }
  std::ranges::fill(n_noted_, 0);
  n_item_ranges_ = 0;
  whole_.reset();
  for (const auto column : ends_) {
    stored_[column].lists->forget();
  }
}

}  // namespace forkrun::rntuple
