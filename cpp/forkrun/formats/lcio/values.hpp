#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>

namespace forkrun::lcio {

/// Values of a column while it grows: by some bytes for each object, so that what adds them is
/// compiled where it is called.
class Values {
 public:
  /// Room for `n` bytes more.
  std::byte* extend(std::size_t n) {
    if (n > capacity_ - size_) {
      grow(std::max(2 * capacity_, size_ + n));
    }
    size_ += n;
    return data_.get() + size_ - n;
  }
  void clear() { size_ = 0; }
  [[nodiscard]] std::span<const std::byte> view() const { return {data_.get(), size_}; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  void grow(std::size_t capacity) {
    auto larger = std::make_unique_for_overwrite<std::byte[]>(capacity);
    if (size_ > 0) {
      std::memcpy(larger.get(), data_.get(), size_);
    }
    data_ = std::move(larger);
    capacity_ = capacity;
  }

  std::unique_ptr<std::byte[]> data_;
  std::size_t size_{};
  std::size_t capacity_{};
};

}  // namespace forkrun::lcio
