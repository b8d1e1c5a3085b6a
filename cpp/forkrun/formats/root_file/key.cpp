#include <forkrun/formats/root_file/key.hpp>

#include <algorithm>

#include <forkrun/formats/root_file/class_layouts.hpp>
#include <forkrun/formats/root_file/object_writer.hpp>

namespace forkrun::root_io {

namespace {

constexpr std::int16_t more_of_large_record = 1000;
constexpr std::int32_t more_of_large_file = 1'000'000;

bool is_large(std::int64_t place) { return place > last_small_place; }

void put_place(ObjectWriter& to, std::int64_t place, bool is_large) {
  is_large ? to.number(place) : to.number(static_cast<std::int32_t>(place));
}

void put_size(ObjectWriter& to, std::size_t size) { to.number(static_cast<std::int32_t>(size)); }

void put_version(ObjectWriter& to, std::int16_t version, bool is_large) {
  to.number(static_cast<std::int16_t>(version + (is_large ? more_of_large_record : 0)));
}

void put_uuid(ObjectWriter& to, const Uuid& uuid) {
  to.number(std::int16_t{1});  // TUUID's version
  std::ranges::for_each(uuid, [&](std::byte byte) { to.number(byte); });
}

std::vector<std::byte> padded(const ObjectWriter& from, std::size_t n_bytes) {
  std::vector<std::byte> bytes{from.bytes().begin(), from.bytes().end()};
  bytes.resize(n_bytes);
  return bytes;
}

}  // namespace

std::size_t Key::length() const {
  constexpr std::size_t n_before_places = 18;
  return n_before_places + (is_large(place) ? 16 : 8) + n_text_bytes(type) + n_text_bytes(name) +
         n_text_bytes(title);
}

std::vector<std::byte> Key::bytes() const {
  ObjectWriter to{0};
  put_size(to, length() + n_stored_bytes);
  put_version(to, 4, is_large(place));
  put_size(to, n_object_bytes);
  constexpr std::int16_t cycle = 1;
  to.numbers(reproducible_date, static_cast<std::int16_t>(length()), cycle);
  put_place(to, place, is_large(place));
  put_place(to, directory, is_large(place));
  to.text(type);
  to.text(name);
  to.text(title);
  return padded(to, length());
}

std::vector<std::byte> Directory::bytes() const {
  const bool large = is_large(std::max({place, parent, key_list}));
  ObjectWriter to{0};
  put_version(to, 5, large);
  to.numbers(reproducible_date, reproducible_date);
  put_size(to, n_key_list_bytes);
  put_size(to, n_name_bytes);
  put_place(to, place, large);
  put_place(to, parent, large);
  put_place(to, key_list, large);
  put_uuid(to, uuid);
  return padded(to, n_directory_bytes);
}

std::vector<std::byte> Header::bytes() const {
  const bool large = is_large(places.end);
  ObjectWriter to{0};
  for (const char letter : {'r', 'o', 'o', 't'}) {
    to.number(letter);
  }
  to.number(root_release + (large ? more_of_large_file : 0));
  to.number(static_cast<std::int32_t>(places.begin));
  put_place(to, places.end, large);
  put_place(to, places.free_room.place, large);
  to.numbers(places.free_room.n_bytes, std::int32_t{1});  // one range of free room
  put_size(to, n_name_bytes);
  to.numbers(static_cast<std::uint8_t>(large ? 8 : 4),
             static_cast<std::int32_t>(places.compression));
  put_place(to, places.classes.place, large);
  to.number(places.classes.n_bytes);
  put_uuid(to, uuid);
  return padded(to, n_header_bytes);
}

std::vector<std::byte> free_room_after(std::int64_t end) {
  constexpr std::int64_t extension = 1'000'000'000;  // ROOT's
  auto last = last_small_place;
  while (end > last) {
    last += extension;
  }
  ObjectWriter to{0};
  put_version(to, 1, is_large(last));
  put_place(to, end, is_large(last));
  put_place(to, last, is_large(last));
  return {to.bytes().begin(), to.bytes().end()};
}

}  // namespace forkrun::root_io
