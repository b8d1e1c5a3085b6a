#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <forkrun/core/data/errors.hpp>

#include <forkrun/bytes/byte_source.hpp>

namespace forkrun::rntuple {

/// Reads what an RNTuple says of itself, little-endian as this host is. \throws Error where it ends
/// before.
class RecordCursor {
 public:
  explicit RecordCursor(std::span<const std::byte> bytes) : left_{bytes} {}

  template <typename T>
  T number() {
    static_assert(std::is_arithmetic_v<T>);
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  [[nodiscard]] std::string text();
  [[nodiscard]] std::span<const std::byte> take(std::size_t n);
  void skip(std::size_t n) { static_cast<void>(take(n)); }
  [[nodiscard]] bool is_at_end() const { return left_.empty(); }
  /// All that is left.
  [[nodiscard]] std::span<const std::byte> rest() { return take(left_.size()); }

 private:
  std::span<const std::byte> left_;
};

/// Something that is passed over by its size, so that newer writers may add to its end. `n_items`:
/// of a list.
struct Frame {
  RecordCursor content;
  std::uint32_t n_items{};
};
/// \throws Error if it is not what is expected here.
[[nodiscard]] Frame record_frame(RecordCursor& from);
[[nodiscard]] Frame list_frame(RecordCursor& from);

/// Where bytes are in the file.
struct Locator {
  std::uint64_t place{};
  std::uint64_t n_bytes{};
};
[[nodiscard]] ByteRange range_of(const Locator& where);
/// \throws Error if they are not in this file.
[[nodiscard]] Locator locator(RecordCursor& from);

/// Contents of a header, a footer or a page list, between its type and its checksum.
enum class EnvelopeType : std::uint16_t { header = 1, footer = 2, page_list = 3 };
[[nodiscard]] RecordCursor envelope_content(std::span<const std::byte> envelope, EnvelopeType type);
/// One as it is stored. \throws Error
[[nodiscard]] std::vector<std::byte> unpacked_envelope(std::span<const std::byte> stored,
                                                       std::uint64_t n_unpacked);
/// Calls `body`, which reads one. \throws Error naming it.
template <typename Body>
void naming_part(const char* what, Body body) {
  try {
    body();
  } catch (const InputError&) {
    throw;
  } catch (const Error& error) {
    throw Error(std::string{"its "} + what + " cannot be read: " + error.what());
  }
}
/// The checksum at the end of an envelope, or after a page.
constexpr std::size_t checksum_bytes = sizeof(std::uint64_t);
[[nodiscard]] std::uint64_t checksum_of(std::span<const std::byte> envelope);

}  // namespace forkrun::rntuple
