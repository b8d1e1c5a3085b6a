#include <forkrun/bytes/content_digest.hpp>

#include <cstring>

namespace forkrun {

namespace {

constexpr std::uint64_t odd_1 = 0x9e3779b97f4a7c15, odd_2 = 0xc2b2ae3d27d4eb4f;
constexpr std::size_t n_lanes = 4, n_words = 2 * n_lanes, stripe = n_words * sizeof(std::uint64_t);
constexpr std::array<std::uint64_t, n_lanes> keys{0x452821e638d01377, 0xbe5466cf34e90c6c,
                                                  0xc0ac29b7c97c50dd, 0x3f84d5b5b5470917};
using Lanes = std::array<std::uint64_t, n_lanes>;
using Words = std::array<std::uint64_t, n_words>;

/// Both halves of a product of 128 bits: one multiplication for sixteen bytes.
std::uint64_t folded(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

void stir(Lanes& lanes, const Words& words) {
  for (std::size_t i = 0; i < n_lanes; ++i) {
    lanes[i] = folded(words[2 * i] ^ keys[i], words[2 * i + 1] ^ lanes[i]);
  }
}

std::uint64_t finished(std::uint64_t value) {
  value = (value ^ (value >> 32)) * odd_1;
  value = (value ^ (value >> 29)) * odd_2;
  return value ^ (value >> 32);
}

}  // namespace

void ContentDigest::add(std::span<const std::byte> bytes) {
  add(bytes.size());
  auto lanes = lanes_;  // in registers: nothing else can point to them
  Words words{};
  for (; bytes.size() >= stripe; bytes = bytes.subspan(stripe)) {
    std::memcpy(words.data(), bytes.data(), stripe);
    stir(lanes, words);
  }
  words = {};
  std::memcpy(words.data(), bytes.data(), bytes.size());
  stir(lanes, words);
  lanes_ = lanes;
}

void ContentDigest::add(std::uint64_t number) { lanes_[0] = folded(number ^ keys[0], lanes_[0]); }

std::array<std::uint64_t, 2> ContentDigest::value() const {
  std::array<std::uint64_t, 2> value{odd_1, odd_2};
  for (const auto lane : lanes_) {
    value[0] = finished(value[0] ^ lane);
    value[1] = finished(value[1] + lane);
  }
  return value;
}

}  // namespace forkrun
