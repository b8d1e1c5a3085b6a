#include <forkrun/formats/rntuple/ntuple_table.hpp>

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <ranges>
#include <string_view>
#include <utility>
#include <vector>

#include <TFile.h>
#include <TKey.h>

#include <forkrun/bytes/zip.hpp>
#include <forkrun/core/data/counted.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/data/nearest_name.hpp>
#include <forkrun/formats/rntuple/page_values.hpp>
#include <forkrun/formats/root_file/directory_keys.hpp>
#include <forkrun/formats/root_file/input_file.hpp>

namespace forkrun::rntuple {

namespace {

using root_io::FileKey;
using root_io::InputFile;

constexpr std::string_view class_name = "ROOT::RNTuple";
constexpr std::string_view class_before_1_0 = "ROOT::Experimental::RNTuple";

/// Place of the object; ROOT gives it for files on servers and for unusual ones.
std::optional<FileKey> key_at(const InputFile& file, const std::string& path) {
  if (file.outline()) {
    return file.outline()->find(path);
  }
  const auto* key = root_io::find_object(file.file(), path);
  if (key == nullptr) {
    return {};
  }
  FileKey found;
  found.type = key->GetClassName();
  found.name = key->GetName();
  found.place = key->GetSeekKey();
  found.n_bytes = key->GetNbytes();
  found.n_object_bytes = key->GetObjlen();
  found.key_length = key->GetKeylen();
  return found;
}

std::vector<std::byte> object_at(InputFile& file, const FileKey& key) {
  const std::int64_t n_stored = key.n_bytes - key.key_length;
  if (n_stored < 0 || !is_possible_size(key.n_object_bytes, n_stored)) {
    throw Error("its key has impossible sizes");
  }
  std::vector<std::byte> stored(static_cast<std::size_t>(n_stored));
  file.read(key.place + key.key_length, stored);
  return restored(stored, static_cast<std::size_t>(key.n_object_bytes));
}

template <typename T>
void fill_counts(std::span<const std::int64_t> offsets, std::byte* into) {
  auto* to = reinterpret_cast<T*>(into);
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    const auto count = offsets[i + 1] - offsets[i];
    if (!std::in_range<T>(count)) {
      throw Error("a list has " + counted(count, "item") + ", more than its count can say");
    }
    to[i] = static_cast<T>(count);
  }
}

std::uint64_t n_values_of(std::span<const ItemRange> item_ranges) {
  return std::accumulate(item_ranges.begin(), item_ranges.end(), std::uint64_t{0},
                         [](auto n, const auto& each) { return n + each.last - each.first; });
}

}  // namespace

std::shared_ptr<const Lists> ListReader::read(const std::vector<ItemRange>& lists) {
  const std::lock_guard lock{mutex_};
  if (!kept_ || asked_ != lists) {
    kept_.reset();
    auto made = std::make_shared<Lists>();
    made->offsets.push_back(0);
    if (lists.size() == 1) {
      pages_.require(lists[0]);  // before memory is taken
      made->offsets.reserve(1 + lists[0].last - lists[0].first);
    }
    for (const auto& each : lists) {
      add(each, *made);
    }
    asked_ = lists;
    kept_ = std::move(made);
  }
  return kept_;
}

void ListReader::forget() {
  const std::lock_guard lock{mutex_};
  kept_.reset();
  asked_ = {};
  ends_ = {};
  pages_.forget();
}

/// The file has the end of each list in its cluster; the first one begins at 0.
void ListReader::add(const ItemRange& lists, Lists& into) {
  const bool is_first = lists.first == 0;
  const ItemRange with_begin{lists.cluster, is_first ? 0 : lists.first - 1, lists.last};
  pages_.require(with_begin);
  ends_.resize(with_begin.last - with_begin.first);
  pages_.read(with_begin, reinterpret_cast<std::byte*>(ends_.data()));
  const auto begin = is_first || ends_.empty() ? 0 : ends_.front();
  auto end = begin;
  const auto shift = into.offsets.back() - begin;
  for (std::size_t i = is_first ? 0 : 1; i < ends_.size(); ++i) {
    if (ends_[i] < end) {
      throw Error(pages_.path() + " is damaged: list " + std::to_string(with_begin.first + i) +
                  " of cluster " + std::to_string(lists.cluster) + " ends before it begins");
    }
    end = ends_[i];
    into.offsets.push_back(end + shift);
  }
  into.items.push_back(
      {lists.cluster, static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end)});
}

/// Reads a field. What it looks at outlives it: the table.
class NtupleTable::Reader final : public ColumnReader {
 public:
  Reader(const NtupleTable& table, const FieldColumn& column) : table_{table}, column_{column} {
    if (!column.type) {
      return;
    }
    for (std::size_t level = 0; level < column.lists.size(); ++level) {
      lists_.push_back(table.list_of(column, column.lists[level], level));
    }
    if (column.is_count) {
      counted_ = table.list_of(column, column.values, column.lists.size());
    } else {
      values_.emplace(table.pages_of(column, column.values, column.lists.size()),
                      column.type->element);
    }
  }

  [[nodiscard]] std::optional<ColumnType> type() const override { return column_.type; }
  [[nodiscard]] std::string described_type() const override {
    return column_.type ? column_.type->name() : "other:" + column_.class_name;
  }
  [[nodiscard]] std::string counter() const override { return column_.counter; }
  [[nodiscard]] std::int64_t n_bytes() const override { return table_.account(column_).n_bytes; }

  void read(std::int64_t first, std::int64_t last, Column& into) override {
    into.reset(*column_.type);
    auto item_ranges = table_.item_ranges(first, last);
    for (std::size_t level = 0; level < lists_.size(); ++level) {
      const auto lists = lists_[level]->read(item_ranges);
      std::ranges::copy(lists->offsets,
                        into.resize_offsets(lists->offsets.size() - 1, level).begin());
      item_ranges = lists->items;
    }
    if (counted_) {
      return read_counts(item_ranges, into);
    }
    for (auto& item_range : item_ranges) {
      item_range = values_in(item_range, column_.type->n_in_item());
      values_->require(item_range);  // before memory is taken
    }
    values_->read(item_ranges, into.resize_values(n_values_of(item_ranges)));
  }

  void add_parts(std::int64_t first, std::int64_t last,
                 std::vector<StoredPart>& to) const override {
    for (const auto& entries : table_.item_ranges(first, last)) {
      for (const auto& list : lists_) {
        list->add_parts(entries, to);
      }
      if (counted_) {
        counted_->add_parts(entries, to);
      }
      if (values_) {
        values_->add_parts(entries, to);
      }
    }
  }

 private:
  void read_counts(const std::vector<ItemRange>& item_ranges, Column& into) {
    const auto lists = counted_->read(item_ranges);
    auto* to = into.resize_values(lists->offsets.size() - 1);
    column_.type->element == ElementType::uint32 ? fill_counts<std::uint32_t>(lists->offsets, to)
                                                 : fill_counts<std::uint64_t>(lists->offsets, to);
  }

  const NtupleTable& table_;
  const FieldColumn& column_;
  std::vector<std::shared_ptr<ListReader>> lists_;  ///< from the outermost
  std::shared_ptr<ListReader> counted_;             ///< of a count
  std::optional<PageReader> values_;                ///< of all else
};

NtupleTable::NtupleTable(std::string name, std::span<const std::byte> anchor,
                         const root_io::InputFile& file)
    : Table{std::move(name)}, file_{file} {
  try {
    ntuple_ = open_ntuple(anchor, file_);
  } catch (const InputError&) {
    throw;
  } catch (const Error& error) {
    throw InputError(file_.path() + ": RNTuple \"" + this->name() + "\": " + error.what());
  }
}

const FieldColumn& NtupleTable::column(const std::string& column) const {
  const auto& by_name = ntuple_.description->by_name;
  const auto found = by_name.find(column);
  if (found == by_name.end()) {
    std::vector<std::string> names;
    std::ranges::transform(columns(), std::back_inserter(names), &FieldColumn::name);
    throw InputError(file_.path() + ": RNTuple \"" + name() + "\" has no field \"" + column + "\"" +
                     nearest_name_hint(column, names));
  }
  return columns()[found->second];
}

std::unique_ptr<ColumnReader> NtupleTable::reader(const std::string& name) const {
  return std::make_unique<Reader>(*this, column(name));
}

std::vector<ItemRange> NtupleTable::item_ranges(std::int64_t first, std::int64_t last) const {
  const auto begin = static_cast<std::uint64_t>(first);
  const auto end = static_cast<std::uint64_t>(last);
  auto cluster = std::ranges::upper_bound(ntuple_.clusters, begin, {}, &Cluster::first_entry);
  cluster -= cluster == ntuple_.clusters.begin() ? 0 : 1;
  std::vector<ItemRange> found;
  for (; cluster != ntuple_.clusters.end() && cluster->first_entry < end; ++cluster) {
    const auto number = static_cast<std::size_t>(cluster - ntuple_.clusters.begin());
    const auto from = std::max(begin, cluster->first_entry);
    const auto to = std::min(end, cluster->first_entry + cluster->n_entries);
    if (from < to) {
      found.push_back({number, from - cluster->first_entry, to - cluster->first_entry});
    }
  }
  return found;
}

PageReader::Of NtupleTable::pages_of(const FieldColumn& column, const Representations& stored,
                                     std::size_t level) const {
  PageReader::Of of{&ntuple_, &file_, column.name, stored, {}};
  if (level == 0) {
    of.n_in_entry = column.is_count || !column.lists.empty() ? 1 : column.type->n_in_item();
  }
  return of;
}

std::shared_ptr<ListReader> NtupleTable::list_of(const FieldColumn& column,
                                                 const Representations& stored,
                                                 std::size_t level) const {
  const std::lock_guard lock{mutex_};
  auto& list = lists_[stored];
  if (!list) {
    list = std::make_shared<ListReader>(pages_of(column, stored, level));
  }
  return list;
}

ColumnAccount NtupleTable::account(const FieldColumn& column) const {
  ColumnAccount account;
  auto all = column.lists;
  all.push_back(column.values);
  for (const auto number : all | std::views::join) {
    for (const auto& cluster : ntuple_.clusters) {
      if (number >= cluster.columns.size() || cluster.columns[number].is_suppressed) {
        continue;
      }
      const auto& pages = cluster.columns[number];
      account.compression = pages.compression;
      account.n_bytes +=
          static_cast<std::int64_t>(packed_bytes(ntuple_.schema().columns[number], pages.n_values));
      for (const auto& page : pages.pages) {
        account.n_stored_bytes += static_cast<std::int64_t>(page.where.n_bytes);
      }
    }
  }
  return account;
}

/// Begins of pages, of the column per entry that has most of them.
std::vector<std::int64_t> NtupleTable::borders() const {
  constexpr std::uint64_t least_apart = 4096;
  std::vector<std::int64_t> all;
  for (const auto& cluster : ntuple_.clusters) {
    const PagesOfColumn* finest = nullptr;
    for (std::size_t number = 0; number < cluster.columns.size(); ++number) {
      const auto& pages = cluster.columns[number];
      if (pages.n_values == cluster.n_entries && is_of_entries(number) &&
          (finest == nullptr || pages.pages.size() > finest->pages.size())) {
        finest = &pages;
      }
    }
    all.push_back(static_cast<std::int64_t>(cluster.first_entry));
    std::uint64_t entry = 0, before = 0;
    for (std::size_t i = 0; finest != nullptr && i < finest->pages.size(); ++i) {
      if (entry >= before + least_apart && entry + least_apart <= cluster.n_entries) {
        all.push_back(static_cast<std::int64_t>(cluster.first_entry + entry));
        before = entry;
      }
      entry += finest->pages[i].n_values;
    }
  }
  all.push_back(n_entries());
  const auto same = std::ranges::unique(all);  // clusters without entries
  all.erase(same.begin(), same.end());
  return all;
}

std::vector<std::int64_t> NtupleTable::cluster_begins() const {
  std::vector<std::int64_t> begins;
  for (const auto& cluster : ntuple_.clusters) {
    if (cluster.n_entries > 0) {
      begins.push_back(static_cast<std::int64_t>(cluster.first_entry));
    }
  }
  begins.push_back(n_entries());
  return begins;
}

bool NtupleTable::is_of_entries(std::size_t column) const {
  const auto field = ntuple_.schema().columns[column].field;
  return ntuple_.schema().fields[field].parent == field;
}

std::unique_ptr<NtupleTable> ntuple_in(InputFile& file, const std::string& path) {
  const auto key = key_at(file, path);
  if (key && key->type == class_before_1_0) {
    throw InputError(file.path() + ": RNTuple \"" + path +
                     "\" is of the format as it was before its version 1.0 (" + key->type +
                     "), which nothing reads any more: write it again with ROOT 6.34 or later");
  }
  if (!key || key->type != class_name) {
    return nullptr;
  }
  return root_io::naming_file(file.path(), [&] {
    const auto anchor =
        file.reading_again({key->place, key->n_bytes}, [&] { return object_at(file, *key); });
    return std::make_unique<NtupleTable>(path, anchor, file);
  });
}

bool is_class_name(std::string_view name) { return name == class_name || name == class_before_1_0; }

}  // namespace forkrun::rntuple
