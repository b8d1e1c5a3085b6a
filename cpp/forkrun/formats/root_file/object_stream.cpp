#include <forkrun/formats/root_file/object_stream.hpp>

#include <algorithm>

namespace forkrun::root_io {

namespace {

constexpr std::uint32_t has_byte_count = 0x40000000;
constexpr std::uint32_t new_class = 0xffffffff;
constexpr std::uint32_t class_bit = 0x80000000;
constexpr std::uint32_t is_referenced = 1U << 4U;

std::string_view characters(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::span<const std::byte> ObjectStream::take(std::size_t n) {
  require(n <= bytes_.size() - at_);
  const auto part = bytes_.subspan(at_, n);
  at_ += n;
  return part;
}

std::string_view ObjectStream::text() {
  constexpr std::size_t is_long = 255;
  std::size_t n = number<std::uint8_t>();
  if (n == is_long) {
    n = number<std::uint32_t>();
  }
  return characters(take(n));
}

ObjectStream::Object ObjectStream::object() {
  const auto n = number<std::uint32_t>();
  require((n & has_byte_count) != 0);
  const auto end = at_ + (n & ~has_byte_count);
  require(end <= bytes_.size());
  return {number<std::uint16_t>(), end};
}

void ObjectStream::skip_base() {
  skip<std::uint16_t>();  // version
  skip<std::uint32_t>();
  if ((number<std::uint32_t>() & is_referenced) != 0) {
    skip<std::uint16_t>();
  }
}

ObjectStream::Pointer ObjectStream::pointer() {
  const auto begin = at_;
  const auto n = number<std::uint32_t>();
  if ((n & has_byte_count) == 0) {
    require((n & class_bit) == 0);
    return {"", n, at_};
  }
  const auto end = at_ + (n & ~has_byte_count);
  require(n != new_class && end <= bytes_.size());
  return {type(), number_of(begin), end};
}

void ObjectStream::skip_pointer() {
  const auto n = number<std::uint32_t>();
  if ((n & has_byte_count) != 0) {
    require(n != new_class);
    seek(at_ + (n & ~has_byte_count));
  }
}

/// The name of a new class, or of an earlier one by reference.
std::string_view ObjectStream::type() {
  const auto begin = at_;
  const auto tag = number<std::uint32_t>();
  if (tag != new_class) {
    const auto known = types_.find(tag & ~class_bit);
    require((tag & class_bit) != 0 && known != types_.end());
    return known->second;
  }
  const auto rest = bytes_.subspan(at_);
  const auto zero = std::ranges::find(rest, std::byte{0});
  require(zero != rest.end());
  const auto name = characters(take(static_cast<std::size_t>(zero - rest.begin())));
  skip<std::byte>();
  types_[number_of(begin)] = name;
  return name;
}

std::size_t ObjectStream::number_of(std::size_t at) const {
  constexpr std::size_t map_offset = 2;
  return at + origin_ + map_offset;
}

}  // namespace forkrun::root_io
