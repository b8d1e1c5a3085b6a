#include <forkrun/formats/ttree/write/nested_entries.hpp>

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include <forkrun/bytes/big_endian.hpp>

namespace forkrun::root_io {

namespace {

/// ROOT's names of element types, in the order of ElementType.
constexpr std::array<std::string_view, 12> element_classes{
    "bool",         "char",     "unsigned char", "short", "unsigned short", "int",
    "unsigned int", "Long64_t", "ULong64_t",     "float", "double",         "char"};

void put_number(Bytes& to, std::size_t number) {
  put_big_endian(to.extend(sizeof(std::uint32_t)), static_cast<std::uint32_t>(number));
}

void put_text(std::span<const std::byte> text, Bytes& to) {
  constexpr std::size_t is_long = 255;
  *to.extend(1) = static_cast<std::byte>(text.size() < is_long ? text.size() : is_long);
  if (text.size() >= is_long) {
    put_number(to, text.size());
  }
  std::memcpy(to.extend(text.size()), text.data(), text.size());
}

/// Values [first, last) of a text or of a list of numbers.
void put_values(const Column& column, std::size_t first, std::size_t last, Bytes& to) {
  const auto size = size_of(column.type().element);
  const auto n = last - first;
  const std::span bytes{column.values<std::byte>().data() + first * size, n * size};
  if (column.type().is_text()) {
    return put_text(bytes, to);
  }
  put_number(to, n);
  swap_copy(to.extend(bytes.size()), bytes.data(), n, size);
}

/// A list of a level, or an event, with all that is in it.
void put_list(const Column& column, std::size_t list, std::size_t level, Bytes& to) {
  const auto offsets = column.offsets(level);
  const auto first = static_cast<std::size_t>(offsets[list]);
  const auto last = static_cast<std::size_t>(offsets[list + 1]);
  if (level + 1 == column.type().n_levels()) {
    return put_values(column, first, last, to);
  }
  put_number(to, last - first);
  for (auto inner = first; inner < last; ++inner) {
    put_list(column, inner, level + 1, to);
  }
}

}  // namespace

std::string class_of(ColumnType type) {
  const auto element = element_classes.at(static_cast<std::size_t>(type.element));
  std::string name{type.is_text() ? "string" : element};
  for (auto n = type.n_levels() - (type.is_text() ? 1 : 0); n > 0; --n) {
    name = "vector<" + name + (name.ends_with('>') ? " >" : ">");
  }
  return name;
}

void add_nested_entry(const Column& column, std::size_t event, Bytes& to) {
  if (column.type().shape == Shape::jagged) {
    return put_list(column, event, 0, to);
  }
  constexpr std::uint32_t mark = 0x40000000;
  constexpr std::uint16_t version = 10;  // that of the class of the branch, of any ROOT 6
  const auto begin = to.size();
  put_number(to, 0);
  put_big_endian(to.extend(sizeof(version)), version);
  put_list(column, event, 0, to);
  const auto n_bytes = static_cast<std::uint32_t>(to.size() - begin - sizeof(std::uint32_t));
  put_big_endian(to.view().data() + begin, mark | n_bytes);
}

}  // namespace forkrun::root_io
