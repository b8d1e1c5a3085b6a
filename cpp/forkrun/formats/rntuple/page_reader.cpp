#include <forkrun/formats/rntuple/page_reader.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <ranges>
#include <utility>

#include <forkrun/bytes/xxh3.hpp>
#include <forkrun/bytes/zip.hpp>
#include <forkrun/core/data/counted.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/root_file/input_file.hpp>

namespace forkrun::rntuple {

namespace {

constexpr auto none = static_cast<std::size_t>(-1);

std::size_t n_places(std::span<const PlacesInPage> places) {
  return std::accumulate(places.begin(), places.end(), std::size_t{},
                         [](auto n, const auto& each) { return n + each.last - each.first; });
}

}  // namespace

void ClusterBytes::read(const Cluster& cluster, std::span<const Representations> columns,
                        const root_io::InputFile& file) {
  constexpr std::uint64_t most_bytes = 16U << 20U;
  std::uint64_t begin = UINT64_MAX, end = 0, n_wanted = 0;
  for (const auto number : columns | std::views::join) {
    if (number >= cluster.columns.size()) {
      continue;
    }
    for (const auto& page : cluster.columns[number].pages) {
      const auto n = page.where.n_bytes + (page.has_checksum ? checksum_bytes : 0);
      begin = std::min(begin, page.where.place);
      end = std::max(end, page.where.place + n);
      n_wanted += n;
    }
  }
  if (!file.is_local() || begin >= end || end - begin > 2 * n_wanted ||
      end - begin > most_bytes - n_bytes_) {
    return;
  }
  auto& part = parts_.emplace_back();
  part.place = static_cast<std::int64_t>(begin);
  file.read(part.place, part.bytes.resize(end - begin));
  n_bytes_ += end - begin;
}

std::optional<std::span<const std::byte>> ClusterBytes::find(const ByteRange& range) const {
  for (const auto& part : parts_) {
    const auto begin = range.place - part.place;
    if (begin >= 0 && begin + range.n_bytes <= std::ssize(part.bytes.view())) {
      return part.bytes.view().subspan(static_cast<std::size_t>(begin),
                                       static_cast<std::size_t>(range.n_bytes));
    }
  }
  return {};
}

void ClusterBytes::forget() {
  parts_.clear();
  n_bytes_ = 0;
}

PageReader::PageReader(const Of& of, ElementType element)
    : of_{of}, element_{element}, size_{size_of(element)} {
  open(of);
}

ItemRange values_in(const ItemRange& items, std::uint64_t n_in_item) {
  ItemRange values{items.cluster, 0, 0};
  if (__builtin_mul_overflow(items.first, n_in_item, &values.first) ||
      __builtin_mul_overflow(items.last, n_in_item, &values.last)) {
    throw Error("an array has an impossible number of values");
  }
  return values;
}

PageReader::PageReader(const Of& of, const StoredColumn& wanted)
    : of_{of}, wanted_{wanted}, element_{stored_element(wanted)}, size_{size_of(element_)} {
  open(of);
}

void PageReader::open(const Of& of) {
  of_ = of;
  kept_ = none;
  cluster_ = none;
  for (std::size_t cluster = 0; cluster < of_.ntuple->clusters.size(); ++cluster) {
    const auto found = part_of(cluster);
    if (cluster == 0) {
      enter(cluster, found);
    }
  }
  for (const auto number : of_.columns) {
    const auto& column = of_.ntuple->schema().columns[number];
    if (wanted_ && !column.is_packed_as(*wanted_) &&
        (is_rounded(wanted_->encoding) || !can_be_read_as(column, element_))) {
      throw Error(path() +
                  " has values of another type, or rounded in another way, than in the "
                  "first file");
    }
  }
}

PageReader::Part PageReader::part_of(std::size_t number) const {
  const auto& cluster = of_.ntuple->clusters[number];
  Part part;
  bool is_there = false;
  bool is_late = false;
  for (const auto column : of_.columns) {
    const bool is_listed = column < cluster.columns.size();
    const auto& stored = of_.ntuple->schema().columns[column];
    if (is_listed ? cluster.columns[column].is_suppressed : stored.begins_suppressed) {
      continue;
    }
    if (is_there) {
      throw Error(path() + " has two representations in cluster " + std::to_string(number));
    }
    is_there = true;
    is_late = stored.is_late || !is_listed;
    part.column = column;
    part.pages = is_listed ? &cluster.columns[column] : nullptr;
  }
  if (!is_there) {
    throw Error(path() + " has no pages in cluster " + std::to_string(number));
  }
  const auto n_stored = part.pages == nullptr ? 0 : part.pages->n_values;
  if (of_.n_in_entry) {
    std::uint64_t n_wanted = 0;
    if (__builtin_mul_overflow(cluster.n_entries, *of_.n_in_entry, &n_wanted) ||
        n_stored > n_wanted || (n_stored < n_wanted && !is_late)) {
      throw Error(path() + " has " + counted(n_stored, "value") + " in the " +
                  counted(cluster.n_entries, "entry", "entries") + " of cluster " +
                  std::to_string(number));
    }
    part.n_zeros = n_wanted - n_stored;
  }
  return part;
}

const PageReader::Part& PageReader::part(std::size_t cluster) {
  if (cluster_ != cluster) {
    enter(cluster, part_of(cluster));
  }
  return part_;
}

void PageReader::enter(std::size_t cluster, const Part& part) {
  part_ = part;
  begins_.clear();
  auto begin = part_.n_zeros;
  if (part_.pages != nullptr) {
    for (const auto& page : part_.pages->pages) {
      begins_.push_back(begin);
      begin += page.n_values;
    }
  }
  begins_.push_back(begin);
  cluster_ = cluster;
  kept_ = none;
}

void PageReader::require(const ItemRange& item_range) {
  const auto n_in_cluster = n_values(item_range.cluster);
  if (item_range.first > item_range.last || item_range.last > n_in_cluster) {
    throw Error(path() + " is damaged: a list has values " + std::to_string(item_range.first) +
                " to " + std::to_string(item_range.last) + " of the " +
                std::to_string(n_in_cluster) + " in cluster " + std::to_string(item_range.cluster));
  }
}

void PageReader::read(std::span<const ItemRange> item_ranges, std::byte* into) {
  Wanted wanted{none, {}, into};
  for (const auto& item_range : item_ranges) {
    if (item_range.cluster != cluster_) {
      decode_wanted(wanted);
    }
    require(item_range);
    read(item_range, wanted);
  }
  decode_wanted(wanted);
}

void PageReader::read(const ItemRange& item_range, Wanted& wanted) {
  const auto& begins = begins_;
  auto first = item_range.first;
  if (first < part_.n_zeros) {
    decode_wanted(wanted);
    const auto zeros_end = std::min(part_.n_zeros, item_range.last);
    wanted.into = std::fill_n(wanted.into, (zeros_end - first) * size_, std::byte{});
    first = zeros_end;
  }
  while (first < item_range.last) {
    if (wanted.page == none || first < begins[wanted.page] || first >= begins[wanted.page + 1]) {
      decode_wanted(wanted);
      wanted.page =
          static_cast<std::size_t>(std::ranges::upper_bound(begins, first) - begins.begin()) - 1;
    }
    const auto begin = begins[wanted.page];
    const auto last = std::min(item_range.last, begins[wanted.page + 1]);
    wanted.places.push_back({first - begin, last - begin});
    first = last;
  }
}

/// A page of which not all is wanted is kept: the next values may be in it, too. Its values are
/// made when they are wanted, where that can be done for each by itself.
void PageReader::decode_wanted(Wanted& wanted) {
  const auto number = std::exchange(wanted.page, none);
  const auto places = std::exchange(wanted.places, {});
  if (number == none) {
    return;
  }
  const auto n_in_page = begins_[number + 1] - begins_[number];
  const auto n = n_places(places);
  auto* into = std::exchange(wanted.into, wanted.into + n * size_);
  if (kept_ != number && n == n_in_page) {
    return decode(number, into);
  }
  const bool apart = are_apart(of_.ntuple->schema().columns[part_.column].encoding);
  if (kept_ != number) {
    kept_ = none;
    require_possible(number);  // before memory is taken
    if (apart) {
      packed_ = packed(number, memory_);
    } else {
      decode(number, memory_.resize(n_in_page * size_).data());
    }
    kept_ = number;
  }
  if (apart) {
    return decode({packed_, n_in_page, places}, into);
  }
  for (const auto& [first, last] : places) {
    into = std::copy_n(memory_.view().data() + first * size_, (last - first) * size_, into);
  }
}

void PageReader::require_possible(std::size_t number) const {
  const auto& page = part_.pages->pages[number];
  const auto n_packed = packed_bytes(of_.ntuple->schema().columns[part_.column], page.n_values);
  if (page.where.n_bytes > n_packed || n_packed / largest_ratio > page.where.n_bytes) {
    throw Error(name_of_page(number) + " is damaged: its size is not one that its values can have");
  }
}

/// The bytes of a page, uncompressed: in `memory`, or in what is known of the file.
std::span<const std::byte> PageReader::packed(std::size_t number, Bytes& memory) const {
  const auto& page = part_.pages->pages[number];
  const auto n_packed = packed_bytes(of_.ntuple->schema().columns[part_.column], page.n_values);
  // One for each thread: all of a table's thousand readers would hold more than the pages they
  // keep.
  thread_local Bytes compressed;
  return of_.file->reading_again(range_of(page), [&] {
    const bool is_compressed = page.where.n_bytes < n_packed;
    const auto content =
        stored(page, number, is_compressed ? compressed : memory).first(page.where.n_bytes);
    return is_compressed ? unpacked(content, n_packed, number, memory) : content;
  });
}

void PageReader::decode(std::size_t number, std::byte* into) {
  require_possible(number);
  thread_local Bytes memory;
  const auto bytes = packed(number, memory);
  const PlacesInPage all{0, part_.pages->pages[number].n_values};
  decode({bytes, all.last, {&all, 1}}, into);
}

void PageReader::decode(const PackedPage& page, std::byte* into) const {
  const auto& column = of_.ntuple->schema().columns[part_.column];
  if (wanted_ && column.is_packed_as(*wanted_)) {
    decode_stored(column, page, into);
  } else {
    decode_page(column, element_, page, into);
  }
}

const PagesOfColumn* PageReader::pages_as_wanted(std::size_t cluster) {
  const auto& of_cluster = part(cluster);
  const auto& column = of_.ntuple->schema().columns[of_cluster.column];
  const bool are_all = of_cluster.pages != nullptr && of_cluster.n_zeros == 0;
  return are_all && column.is_packed_as(*wanted_) ? of_cluster.pages : nullptr;
}

std::span<const std::byte> PageReader::sealed(std::size_t cluster, std::size_t number,
                                              std::span<const std::byte> known) {
  static_cast<void>(part(cluster));
  require_possible(number);
  const auto& page = part_.pages->pages[number];
  const auto bytes =
      of_.file->reading_again(range_of(page), [&] { return stored(page, number, raw_, known); });
  if (page.has_checksum) {
    return bytes;
  }
  const auto checksum = xxh3(bytes);
  with_checksum_.clear();
  std::ranges::copy(bytes, with_checksum_.extend(bytes.size() + checksum_bytes));
  std::memcpy(with_checksum_.view().last(checksum_bytes).data(), &checksum, sizeof checksum);
  return with_checksum_.view();
}

/// Without a checksum, only unpacking tells whether it should be read again.
void PageReader::decode_sealed(std::size_t number, std::span<const std::byte> sealed,
                               std::byte* into) {
  const auto& page = part_.pages->pages[number];
  const auto n_packed = packed_bytes(of_.ntuple->schema().columns[part_.column], page.n_values);
  if (!page.has_checksum) {
    return decode(number, into);
  }
  thread_local Bytes memory;
  const auto content = sealed.first(page.where.n_bytes);
  const PlacesInPage all{0, page.n_values};
  const auto bytes =
      content.size() < n_packed ? unpacked(content, n_packed, number, memory) : content;
  decode({bytes, all.last, {&all, 1}}, into);
}

void PageReader::unpack(std::size_t cluster, std::size_t number) {
  static_cast<void>(part(cluster));
  require_possible(number);
  kept_ = none;
  static_cast<void>(packed(number, memory_));
}

void PageReader::add_parts(const ItemRange& entries, std::vector<StoredPart>& to) const {
  const auto [column, pages, n_zeros] = part_of(entries.cluster);
  if (pages == nullptr) {
    return;
  }
  const auto& cluster = of_.ntuple->clusters[entries.cluster];
  const auto n_values = static_cast<double>(n_zeros + pages->n_values);
  const auto n_in_entry = n_values / static_cast<double>(cluster.n_entries);
  auto begin = static_cast<double>(n_zeros);
  for (const auto& page : pages->pages) {
    const auto first = begin / n_in_entry;
    begin += page.n_values;
    if (first < static_cast<double>(entries.last) &&
        begin / n_in_entry > static_cast<double>(entries.first)) {
      to.push_back(
          {static_cast<std::int64_t>(cluster.first_entry + static_cast<std::uint64_t>(first)),
           range_of(page)});
    }
  }
}

void PageReader::forget() {
  kept_ = none;
  memory_ = {};
  raw_ = {};
  with_checksum_ = {};
}

/// With its checksum, if it has one: in `memory`, or in what is known of the file.
std::span<const std::byte> PageReader::stored(const Page& page, std::size_t number, Bytes& memory,
                                              std::span<const std::byte> known) const {
  const auto range = range_of(page);
  auto bytes = of_.known == nullptr ? std::nullopt : of_.known->find(range);
  if (!bytes) {
    const auto into = memory.resize(static_cast<std::size_t>(range.n_bytes));
    of_.file->read(range.place, into);
    bytes = into;
  }
  if (page.has_checksum && !are_same(*bytes, known) &&
      xxh3(bytes->first(page.where.n_bytes)) != checksum_of(*bytes)) {
    throw Error(name_of_page(number) + ", at byte " + std::to_string(range.place) +
                ", is damaged: its checksum is not that of its bytes");
  }
  return *bytes;
}

std::span<const std::byte> PageReader::unpacked(std::span<const std::byte> content,
                                                std::size_t n_bytes, std::size_t number,
                                                Bytes& memory) const {
  try {
    check_blocks(content, n_bytes);  // before memory is taken for what they become
    unzip(content, memory.resize(n_bytes));
  } catch (const Error&) {
    throw Error(name_of_page(number) + " is damaged: it cannot be uncompressed");
  }
  return memory.view();
}

std::string PageReader::name_of_page(std::size_t number) const {
  return path() + ": page " + std::to_string(number) + " in cluster " + std::to_string(cluster_);
}

}  // namespace forkrun::rntuple
