#include <forkrun/core/data/event_id.hpp>

#include <algorithm>
#include <array>
#include <bit>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/random/mixing.hpp>

namespace forkrun {

namespace {

/// The lumi's part in both halves of the hash. For one lumi each half is a bijection of the event
/// number; the keys of different lumis are unrelated.
struct LumiKeys {
  explicit LumiKeys(LumiId lumi) {
    const auto packed = (std::uint64_t{lumi.run} << 32U) | lumi.lumi;
    low = mix(packed + 0x9e3779b97f4a7c15U);
    high = mix(low + 0xd1b54a32d192ed03U);
  }
  std::uint64_t low;
  std::uint64_t high;
};

constexpr std::string_view hex_digits = "0123456789abcdef";

void write_hex(std::uint64_t value, std::span<char, 16> into) {
  for (auto digit = into.rbegin(); digit != into.rend(); ++digit, value >>= 4U) {
    *digit = hex_digits[value & 0xfU];
  }
}

std::uint64_t read_hex(std::string_view digits) {
  std::uint64_t value = 0;
  for (const char digit : digits) {
    value = (value << 4U) | hex_digits.find(digit);
  }
  return value;
}

}  // namespace

void EventDigest::add(const EventId& id) { add({id.run, id.lumi}, std::span{&id.event, 1}); }

void EventDigest::add(LumiId lumi, std::span<const std::uint64_t> events) {
  const LumiKeys keys{lumi};
  for (const auto event : events) {
    const auto low = mix(event + keys.low);
    const auto high = mix(event ^ keys.high);
    low_ += low;
    high_ += high + (low_ < low ? 1U : 0U);
  }
  count_ += events.size();
}

EventDigest& EventDigest::operator+=(const EventDigest& other) {
  low_ += other.low_;
  high_ += other.high_ + (low_ < other.low_ ? 1U : 0U);
  count_ += other.count_;
  return *this;
}

EventDigest& EventDigest::operator-=(const EventDigest& other) {
  high_ -= other.high_ + (low_ < other.low_ ? 1U : 0U);
  low_ -= other.low_;
  count_ -= other.count_;
  return *this;
}

std::string EventDigest::hex() const {
  std::array<char, 32> digits{};
  write_hex(high_, std::span{digits}.first<16>());
  write_hex(low_, std::span{digits}.last<16>());
  return {digits.begin(), digits.end()};
}

std::array<std::uint32_t, 4> EventDigest::words() const {
  const auto word = [](std::uint64_t bits) { return static_cast<std::uint32_t>(bits); };
  return {word(high_ >> 32U), word(high_), word(low_ >> 32U), word(low_)};
}

EventDigest EventDigest::parse(std::uint64_t count, const std::string& hex) {
  const bool well_formed =
      hex.size() == 32 && hex.find_first_not_of(hex_digits) == std::string::npos;
  if (!well_formed) {
    throw Error{"\"" + hex + "\" is not a digest of 32 lower-case hexadecimal digits"};
  }
  EventDigest digest;
  digest.count_ = count;
  digest.high_ = read_hex(std::string_view{hex}.substr(0, 16));
  digest.low_ = read_hex(std::string_view{hex}.substr(16));
  return digest;
}

}  // namespace forkrun
