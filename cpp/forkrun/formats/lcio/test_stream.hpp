#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <forkrun/formats/lcio/record.hpp>

namespace forkrun::lcio {

/// Bytes in LCIO's form, value after value.
class Stream {
 public:
  template <typename... T>
  Stream& words(T... values) {
    (put(static_cast<std::uint32_t>(values)), ...);
    return *this;
  }
  Stream& text(std::string_view value) {
    put(static_cast<std::uint32_t>(value.size()));
    return characters(value);
  }
  Stream& characters(std::string_view value) {
    for (const auto c : value) {
      bytes_.push_back(static_cast<std::byte>(c));
    }
    bytes_.resize(padded(bytes_.size()));
    return *this;
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  void put(std::uint32_t value) {
    for (const auto shift : {24U, 16U, 8U, 0U}) {
      bytes_.push_back(static_cast<std::byte>(value >> shift));
    }
  }

  std::vector<std::byte> bytes_;
};

}  // namespace forkrun::lcio
