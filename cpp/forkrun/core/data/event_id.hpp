#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <span>
#include <string>

namespace forkrun {

struct LumiId {
  std::uint32_t run{};
  std::uint32_t lumi{};
  auto operator<=>(const LumiId&) const = default;
};

struct EventId {
  std::uint32_t run{};
  std::uint32_t lumi{};
  std::uint64_t event{};
  auto operator<=>(const EventId&) const = default;
};

/// Count and order-independent digest of a set of event ids: the sum, modulo 2^128, of a mixed
/// 128-bit hash of each (run, lumi, event). Adding two digests gives the digest of the union, so
/// digests of parts are compared with the digest of the whole, in any order.
class EventDigest {
 public:
  void add(const EventId& id);
  void add(LumiId lumi, std::span<const std::uint64_t> events);
  EventDigest& operator+=(const EventDigest& other);
  /// Removes events that it contains.
  EventDigest& operator-=(const EventDigest& other);
  bool operator==(const EventDigest&) const = default;

  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// 32 lower-case hexadecimal digits; "0"*32 for the empty set.
  [[nodiscard]] std::string hex() const;
  /// The same 128 bits, the highest first.
  [[nodiscard]] std::array<std::uint32_t, 4> words() const;
  /// Inverse of `hex()`. \throws Error if `hex` is not of that form.
  [[nodiscard]] static EventDigest parse(std::uint64_t count, const std::string& hex);

 private:
  std::uint64_t count_{};
  std::uint64_t low_{};
  std::uint64_t high_{};
};

}  // namespace forkrun
