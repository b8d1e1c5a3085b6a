#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>

namespace forkrun {

/// Uninitialised, growing memory that keeps its capacity.
class Bytes {
 public:
  std::span<std::byte> resize(std::size_t n);
  /// Adds n uninitialised bytes at the end, keeping the content.
  std::byte* extend(std::size_t n);
  void clear() { size_ = 0; }
  /// Reserves room for so many bytes in total, so that `extend` need not move the content.
  void reserve(std::size_t n) {
    if (n > capacity_) {
      grow(n);
    }
  }
  [[nodiscard]] std::span<const std::byte> view() const { return {data_.get(), size_}; }
  [[nodiscard]] std::span<std::byte> view() { return {data_.get(), size_}; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };

  void grow(std::size_t capacity);

  std::unique_ptr<std::byte[], Free> data_;
  std::size_t size_{};
  std::size_t capacity_{};
};

}  // namespace forkrun
