#include <forkrun/formats/ttree/read/nested_values.hpp>

#include <algorithm>

#include <forkrun/bytes/big_endian.hpp>
#include <forkrun/core/data/errors.hpp>

namespace forkrun::root_io {

namespace {

std::span<const std::byte> take(std::span<const std::byte>& rest, std::size_t n_bytes) {
  if (n_bytes > rest.size()) {
    throw Error("a text or a list is longer than its entry");
  }
  const auto taken = rest.first(n_bytes);
  rest = rest.subspan(n_bytes);
  return taken;
}

std::size_t take_number(std::span<const std::byte>& rest) {
  return big_endian<std::uint32_t>(take(rest, sizeof(std::uint32_t)).data());
}

/// A text begins with its length: a byte, or 255 and four bytes.
std::span<const std::byte> take_text(std::span<const std::byte>& rest) {
  constexpr std::size_t is_long = 255;
  const auto length = std::to_integer<std::size_t>(take(rest, 1)[0]);
  return take(rest, length == is_long ? take_number(rest) : length);
}

/// Number of texts or lists in a vector, whose header says how many bytes follow.
std::size_t take_header(std::span<const std::byte>& rest, std::size_t header_bytes) {
  constexpr std::uint32_t mark = 0x40000000;
  const auto n_bytes = rest.size() - std::min(rest.size(), sizeof(std::uint32_t));
  auto header = take(rest, header_bytes);
  if (big_endian<std::uint32_t>(header.data()) != (mark | static_cast<std::uint32_t>(n_bytes))) {
    throw Error("a vector does not have the size of its entry");
  }
  header = header.last(sizeof(std::uint32_t));
  return take_number(header);
}

}  // namespace

void NestedValues::begin(ColumnType type, std::size_t n_events) {
  type_ = type;
  ends_.clear();
  ends_.reserve(n_events);
  inner_.clear();
  values_.clear();
}

void NestedValues::add(std::span<const std::byte> entry, std::size_t header_bytes) {
  auto n_lists = type_.shape == Shape::jagged ? 1 : take_header(entry, header_bytes);
  // An empty text in a branch of characters has no bytes at all.
  const bool is_without_length = type_.shape == Shape::jagged && entry.empty();
  for (; n_lists > 0; --n_lists) {
    if (!type_.is_text()) {
      add_numbers(entry);
    } else if (!is_without_length) {
      add_text(entry);
    }
    inner_.push_back(static_cast<std::int64_t>(values_.size() / size_of(type_.element)));
  }
  if (!entry.empty()) {
    throw Error("bytes are left behind the last text or list of an entry");
  }
  ends_.push_back(static_cast<std::int64_t>(inner_.size()));
}

void NestedValues::add_text(std::span<const std::byte>& rest) {
  const auto text = take_text(rest);
  std::ranges::copy(text, values_.extend(text.size()));
}

void NestedValues::add_numbers(std::span<const std::byte>& rest) {
  const auto size = size_of(type_.element);
  const auto n = take_number(rest);
  const auto bytes = take(rest, n * size);
  swap_copy(values_.extend(bytes.size()), bytes.data(), n, size);
}

void NestedValues::fill(Column& into) const {
  const auto copy = [](const std::vector<std::int64_t>& ends, std::span<std::int64_t> offsets) {
    offsets[0] = 0;
    std::ranges::copy(ends, offsets.begin() + 1);
  };
  into.reset(type_);
  const bool is_one_list = type_.shape == Shape::jagged;
  copy(is_one_list ? inner_ : ends_, into.resize_offsets(ends_.size()));
  if (!is_one_list) {
    copy(inner_, into.resize_offsets(inner_.size(), 1));
  }
  std::ranges::copy(values_.view(), into.resize_values(values_.size() / size_of(type_.element)));
}

bool is_nested_entry(std::span<const std::byte> entry, ColumnType type, std::size_t header_bytes) {
  NestedValues values;
  values.begin(type, 1);
  try {
    values.add(entry, header_bytes);
  } catch (const Error&) {
    return false;
  }
  return true;
}

}  // namespace forkrun::root_io
