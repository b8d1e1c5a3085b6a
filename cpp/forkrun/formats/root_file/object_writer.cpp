#include <forkrun/formats/root_file/object_writer.hpp>

#include <algorithm>

namespace forkrun::root_io {

namespace {

constexpr std::uint32_t is_count = 0x40000000, is_class = 0x80000000, is_new_class = 0xffffffff;
constexpr std::size_t before_places = 2;  // 0 is the null pointer, 1 is taken, too
constexpr std::size_t short_text = 254;

}  // namespace

std::size_t n_text_bytes(std::string_view text) {
  return text.size() + (text.size() > short_text ? 1 + sizeof(std::int32_t) : 1);
}

std::span<std::byte> ObjectWriter::room(std::size_t n_bytes) {
  bytes_.resize(bytes_.size() + n_bytes);
  return std::span{bytes_}.last(n_bytes);
}

void ObjectWriter::text(std::string_view text) {
  if (text.size() > short_text) {
    number(std::uint8_t{255});
    number(static_cast<std::int32_t>(text.size()));
  } else {
    number(static_cast<std::uint8_t>(text.size()));
  }
  raw(std::as_bytes(std::span{text}));
}

void ObjectWriter::raw(std::span<const std::byte> bytes) {
  std::ranges::copy(bytes, room(bytes.size()).begin());
}

void ObjectWriter::null(const std::string& type) {
  classes_.null_pointers.insert(type);
  number(std::int32_t{0});
}

void ObjectWriter::array(std::span<const double> values) {
  number(static_cast<std::int32_t>(values.size()));
  const auto from = std::as_bytes(values);
  swap_copy(room(from.size()).data(), from.data(), values.size(), sizeof(double));
}

void ObjectWriter::base(std::uint32_t bits, std::uint32_t id) {
  numbers(std::int16_t{1}, id, bits);
}

void ObjectWriter::named(std::string_view name, std::string_view title, std::uint32_t bits) {
  object(1, [&] {
    base(bits);
    text(name);
    text(title);
  });
}

std::size_t ObjectWriter::begin_counted() {
  const auto place = bytes_.size();
  number(std::uint32_t{0});
  return place;
}

void ObjectWriter::end_counted(std::size_t place) {
  const auto n = bytes_.size() - place - sizeof(std::uint32_t);
  put_big_endian(&bytes_[place], static_cast<std::uint32_t>(n) | is_count);
}

std::uint32_t ObjectWriter::next_number() const {
  return static_cast<std::uint32_t>(key_length_ + bytes_.size() + before_places);
}

void ObjectWriter::put_class(const std::string& type) {
  const auto [known, is_new] = places_of_classes_.try_emplace(type, next_number());
  if (!is_new) {
    return number(known->second | is_class);
  }
  classes_.objects.insert(type);
  number(is_new_class);
  raw(std::as_bytes(std::span{type.c_str(), type.size() + 1}));
}

}  // namespace forkrun::root_io
