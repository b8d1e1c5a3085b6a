#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <forkrun/bytes/big_endian.hpp>
#include <forkrun/core/data/counted.hpp>
#include <forkrun/core/data/errors.hpp>

namespace forkrun::lcio {

/// Bytes taken by arrays of `n` bytes: a multiple of 4.
[[nodiscard]] constexpr std::size_t padded(std::size_t n) { return (n + 3) / 4 * 4; }

/// Reads big-endian values in order, never beyond the end. \throws InputError
class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes)
      : at_{bytes.data()}, end_{bytes.data() + bytes.size()} {}

  [[nodiscard]] std::size_t n_left() const { return static_cast<std::size_t>(end_ - at_); }
  [[nodiscard]] bool is_at_end() const { return at_ == end_; }

  [[nodiscard]] const std::byte* next_bytes() const { return at_; }

  /// Returns the next values, and steps over them.
  const std::byte* take(std::size_t n) {
    if (n > n_left()) [[unlikely]] {
      throw_too_short(n);
    }
    const auto* taken = at_;
    at_ += n;
    return taken;
  }
  template <typename T>
  T next() {
    return big_endian<T>(take(sizeof(T)));
  }
  std::uint32_t word() { return next<std::uint32_t>(); }

  /// Number of the following items, each of at least `least` bytes.
  std::size_t count(std::size_t least = 4) {
    const auto n = next<std::int32_t>();
    if (n < 0 || static_cast<std::size_t>(n) > n_left() / least) [[unlikely]] {
      throw_wrong_count(n);
    }
    return static_cast<std::size_t>(n);
  }
  std::string_view text() {
    const auto n = count(1);
    return {reinterpret_cast<const char*>(take(padded(n))), n};
  }

 private:
  [[noreturn]] void throw_too_short(std::size_t n) const {
    throw InputError("it ends where " + counted(n, "byte more is", "bytes more are") +
                     " needed, and " + std::to_string(n_left()) + " are left");
  }
  [[noreturn]] void throw_wrong_count(std::int32_t n) const {
    throw InputError("it says that " + counted(n, "item follows", "items follow") + ", for which " +
                     counted(n_left(), "byte is", "bytes are") + " left");
  }

  const std::byte* at_;
  const std::byte* end_;
};

}  // namespace forkrun::lcio
