#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include <forkrun/formats/rntuple/record_cursor.hpp>
#include <forkrun/formats/rntuple/schema.hpp>

namespace forkrun::rntuple {

/// Writes what an RNTuple says of itself, little-endian as this host is.
class RecordWriter {
 public:
  template <typename T>
  void number(T value) {
    static_assert(std::is_arithmetic_v<T>);
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof(T));
  }
  template <typename... Ts>
  void numbers(Ts... values) {
    (number(values), ...);
  }
  void text(std::string_view text);
  void raw(std::span<const std::byte> bytes);
  void locator(const Locator& where);

  /// Something that is passed over by its size.
  template <typename Body>
  void record(Body content) {
    const auto place = begin_frame();
    content();
    end_frame(place, false);
  }
  /// The same, of so many items.
  template <typename Body>
  void list(std::size_t n_items, Body items) {
    const auto place = begin_frame();
    number(static_cast<std::uint32_t>(n_items));
    items();
    end_frame(place, true);
  }

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::size_t begin_frame();
  void end_frame(std::size_t place, bool is_list);

  std::vector<std::byte> bytes_;
};

/// A header, a footer or a page list: its type and size, its contents, its checksum.
[[nodiscard]] std::vector<std::byte> envelope(EnvelopeType type,
                                              std::span<const std::byte> content);

/// Contents of a header: name, writer, fields, columns, and the columns of projected fields. The
/// writer is always "forkrun", so that bytes depend on the content alone.
void put_header(RecordWriter& to, std::string_view name, const Schema& schema);

/// A schema without fields, columns, projected fields or more: the extension of one that has not
/// been extended.
void put_no_extension(RecordWriter& to);

}  // namespace forkrun::rntuple
