#include <forkrun/formats/ttree/merge/basket_check.hpp>

#include <algorithm>
#include <string_view>
#include <thread>

#include <TTree.h>

#include <forkrun/bytes/big_endian.hpp>
#include <forkrun/bytes/in_parallel.hpp>
#include <forkrun/core/data/counted.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/ttree/read/form_values.hpp>
#include <forkrun/formats/ttree/read/stored_branch.hpp>

namespace forkrun::root_io {

namespace {

constexpr std::size_t block_header = 9;

std::size_t size_at(std::span<const std::byte> bytes, std::size_t at) {
  return std::to_integer<std::size_t>(bytes[at]) |
         std::to_integer<std::size_t>(bytes[at + 1]) << 8U |
         std::to_integer<std::size_t>(bytes[at + 2]) << 16U;
}

/// Whether compressed blocks follow each other through all of the payload, and give `n_object`
/// bytes.
bool blocks_fit(std::span<const std::byte> payload, std::size_t n_object) {
  std::size_t n_given = 0;
  while (payload.size() > block_header) {
    const std::string_view algorithm{reinterpret_cast<const char*>(payload.data()), 2};
    if (algorithm != "ZL" && algorithm != "ZS" && algorithm != "L4" && algorithm != "XZ" &&
        algorithm != "CS") {
      return false;
    }
    const auto n_zipped = size_at(payload, 3) + block_header;
    n_given += size_at(payload, 6);
    if (n_zipped > payload.size()) {
      return false;
    }
    payload = payload.subspan(n_zipped);
  }
  return payload.empty() && n_given == n_object;
}

/// A vector's entry begins with the number of bytes that follow, and its number of values.
bool is_vector(std::span<const std::byte> entry, std::size_t header_bytes, std::size_t size) {
  constexpr std::uint32_t mark = 0x40000000;
  if (entry.size() < header_bytes) {
    return false;
  }
  const auto n_bytes = big_endian<std::uint32_t>(entry.data());
  const auto n_values = big_endian<std::uint32_t>(&entry[header_bytes - sizeof(std::uint32_t)]);
  return n_bytes == (mark | static_cast<std::uint32_t>(entry.size() - sizeof(std::uint32_t))) &&
         entry.size() == header_bytes + n_values * size;
}

bool entries_fit(const Basket& basket, const BranchLayout& layout) {
  if (!layout.column || layout.column->shape == Shape::scalar || basket.offsets.empty()) {
    return true;
  }
  const auto size = size_of(layout.column->element) * layout.column->n_in_item();
  const auto nested =
      layout.column->is_nested() ? std::optional{form_of_nested(*layout.column)} : std::nullopt;
  for (std::size_t i = 0; i + 1 < basket.offsets.size(); ++i) {
    const auto begin = static_cast<std::size_t>(basket.offsets[i]);
    const auto entry =
        basket.data.subspan(begin, static_cast<std::size_t>(basket.offsets[i + 1]) - begin);
    const bool fits = nested                     ? is_of_form(entry, *nested, *layout.column)
                      : layout.header_bytes == 0 ? entry.size() % size == 0
                                                 : is_vector(entry, layout.header_bytes, size);
    if (!fits) {
      return false;
    }
  }
  return true;
}

}  // namespace

BranchLayouts layouts_of(const std::vector<TBranch*>& branches) {
  BranchLayouts layouts;
  for (auto* branch : branches) {
    layouts.push_back(layout_of(*branch));
  }
  return layouts;
}

BasketCheck::BasketCheck(TTree& tree, const std::vector<TBranch*>& branches, const TreeFile& file,
                         Depth depth)
    : BasketCheck{std::make_shared<BranchLayouts>(layouts_of(branches)), baskets_of(tree, branches),
                  tree.GetName(), file, depth} {}

BasketCheck::BasketCheck(std::shared_ptr<const BranchLayouts> layouts, TreeBaskets baskets,
                         const std::string& tree_name, const TreeFile& file, Depth depth)
    : layouts_{std::move(layouts)},
      baskets_{std::move(baskets)},
      where_{file.path() + ": tree \"" + tree_name + "\", branch \""},
      file_size_{file.size()},
      depth_{file.is_local() ? depth : Depth::contents} {}

void BasketCheck::fail(std::size_t branch, const std::string& why) const {
  throw InputError(where_ + (*layouts_)[branch].name + "\"" + why +
                   "; make the file again, or copy it again");
}

void BasketCheck::fail(const BasketPlace& place, const std::string& why) const {
  fail(place.branch, ", basket " + std::to_string(place.number) + " (entries " +
                         std::to_string(place.first_entry) + " to " +
                         std::to_string(place.first_entry + place.n_entries - 1) + "): " + why);
}

std::vector<BasketPlace> BasketCheck::places() const {
  std::vector<BasketPlace> places;
  for (std::size_t i = 0; i < baskets_.branches.size(); ++i) {
    add_places(i, places);
  }
  return places;
}

void BasketCheck::add_places(std::size_t branch, std::vector<BasketPlace>& places) const {
  const auto& [n_entries, baskets] = baskets_.branches[branch];
  if (n_entries != baskets_.n_entries && baskets_.n_entries > 0) {
    fail(branch, " has " + counted(n_entries, "entry", "entries") + ", where the tree has " +
                     std::to_string(baskets_.n_entries));
  }
  if (n_entries == 0) {
    return;
  }
  if (baskets.empty() || baskets.front().first_entry != 0) {
    fail(branch, ": its list of baskets is damaged");
  }
  for (std::size_t i = 0; i < baskets.size() && baskets[i].first_entry < n_entries; ++i) {
    const auto& basket = baskets[i];
    const auto end = i + 1 < baskets.size() ? baskets[i + 1].first_entry : n_entries;
    const BasketPlace place{branch,         static_cast<int>(i), basket.seek,
                            basket.n_bytes, basket.first_entry,  end - basket.first_entry};
    if (place.n_entries < 0 || end > n_entries) {
      fail(branch, ": its list of baskets is damaged: basket " + std::to_string(i) +
                       " begins at entry " + std::to_string(basket.first_entry) +
                       ", the next one at " + std::to_string(end));
    }
    if (place.n_entries > 0) {
      check_place(place, basket.is_in_tree);
      places.push_back(place);
    }
  }
}

void BasketCheck::check_place(const BasketPlace& place, bool is_in_tree) const {
  if (place.seek == 0) {
    if (!is_in_tree) {
      fail(place, "it is missing");
    }
  } else if (place.seek < 0 || place.n_bytes <= 0 || place.seek + place.n_bytes > file_size_) {
    fail(place, "it would be at byte " + std::to_string(place.seek) + " with " +
                    counted(place.n_bytes, "byte") + ", in a file of " +
                    std::to_string(file_size_));
  }
}

BasketHeader BasketCheck::check(const BasketPlace& place, std::span<const std::byte> record) const {
  if (!is_basket(record)) {
    fail(place, "no basket at the place that the tree names");
  }
  BasketHeader header;
  try {
    header = parse_basket_header(record);
  } catch (const Error& error) {
    fail(place, error.what());
  }
  check_header(place, header, record);
  if (depth_ == Depth::contents) {
    check_contents(place, record);
  }
  return header;
}

void BasketCheck::check_header(const BasketPlace& place, const BasketHeader& header,
                               std::span<const std::byte> record) const {
  if (header.seek_key != place.seek) {
    fail(place, "the basket at byte " + std::to_string(place.seek) + " belongs at byte " +
                    std::to_string(header.seek_key));
  }
  if (header.n_entries != place.n_entries) {
    fail(place, "it has " + counted(header.n_entries, "entry", "entries"));
  }
  const auto n_object = static_cast<std::int64_t>(header.object_length);
  const auto n_data = static_cast<std::int64_t>(header.last) - header.key_length;
  if (header.n_bytes != place.n_bytes || header.key_length > header.n_bytes || n_data < 0 ||
      n_data > n_object) {
    fail(place, "its sizes do not agree");
  }
  const auto entry_size = static_cast<std::int64_t>((*layouts_)[place.branch].entry_size);
  if (entry_size > 0 && n_data != entry_size * header.n_entries) {
    fail(place, "its entries have " + counted(n_data, "byte") + " where " +
                    std::to_string(entry_size * header.n_entries) + " would be right");
  }
  const auto payload = record.subspan(static_cast<std::size_t>(header.key_length));
  const auto n_bytes = static_cast<std::int64_t>(payload.size());
  if (n_bytes != n_object &&
      (n_bytes > n_object || !blocks_fit(payload, static_cast<std::size_t>(n_object)))) {
    fail(place, "its compressed data do not fit its size");
  }
}

void BasketCheck::check_contents(const BasketPlace& place,
                                 std::span<const std::byte> record) const {
  const auto& layout = (*layouts_)[place.branch];
  Bytes memory;
  Basket basket;
  try {
    decode_basket(record, layout.has_offsets, memory, basket);
  } catch (const Error& error) {
    fail(place, error.what());
  }
  if (!basket.lacks_offsets && !entries_fit(basket, layout)) {
    fail(place, "the lengths of its entries do not fit values of type " + layout.described_type());
  }
}

std::vector<BasketHeader> BasketCheck::check(
    std::span<const BasketPlace> places,
    std::span<const std::span<const std::byte>> records) const {
  std::vector<BasketHeader> headers(places.size());
  const auto check_one = [&](std::size_t i) { headers[i] = check(places[i], records[i]); };
  if (depth_ == Depth::contents) {
    in_parallel(places.size(), std::thread::hardware_concurrency(), check_one);
  } else {
    for (std::size_t i = 0; i < places.size(); ++i) {
      check_one(i);
    }
  }
  return headers;
}

}  // namespace forkrun::root_io
