#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <forkrun/formats/lcio/record.hpp>

namespace forkrun::lcio {

/// Version of LCIO whose form is written.
constexpr auto written_version = version_of(2, 23);

/// Big-endian values, in order.
class Written {
 public:
  template <typename T>
  Written& add(T value) {
    auto bytes = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
    if constexpr (std::endian::native == std::endian::little) {
      std::ranges::reverse(bytes);
    }
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  Written& count(std::size_t n) { return add(static_cast<std::int32_t>(n)); }
  Written& bytes(std::span<const std::byte> from) {
    bytes_.insert(bytes_.end(), from.begin(), from.end());
    bytes_.resize(padded(bytes_.size()));
    return *this;
  }
  Written& text(std::string_view from) { return count(from.size()).bytes(as_bytes(from)); }
  /// A block with its head.
  Written& block(std::string_view name, std::uint32_t version, std::span<const std::byte> content) {
    const auto n_head = 16 + padded(name.size());
    count(n_head + content.size()).add(block_marker).add(version).count(name.size());
    return bytes(as_bytes(name)).bytes(content);
  }
  /// A record with its head. `stored`: its `n_data` bytes, or their deflated form.
  Written& record(std::string_view name, std::span<const std::byte> stored, std::size_t n_data,
                  bool is_compressed) {
    count(least_head + padded(name.size())).add(record_marker).count(is_compressed ? 1 : 0);
    count(stored.size()).count(n_data).count(name.size());
    return bytes(as_bytes(name)).bytes(stored);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }
  [[nodiscard]] std::span<const std::byte> view() const { return bytes_; }

 private:
  static std::span<const std::byte> as_bytes(std::string_view text) {
    return std::as_bytes(std::span{text});
  }

  std::vector<std::byte> bytes_;
};

}  // namespace forkrun::lcio
