#include <forkrun/bytes/growing_bytes.hpp>

#include <algorithm>
#include <cstring>

namespace forkrun {

std::span<std::byte> Bytes::resize(std::size_t n) {
  if (n > capacity_) {
    size_ = 0;
    grow(n);
  }
  size_ = n;
  return view();
}

std::byte* Bytes::extend(std::size_t n) {
  if (size_ + n > capacity_) {
    grow(std::max(2 * capacity_, size_ + n));
  }
  size_ += n;
  return data_.get() + size_ - n;
}

void Bytes::grow(std::size_t capacity) {
  auto larger = std::make_unique_for_overwrite<std::byte[]>(capacity);
  if (size_ > 0) {
    std::memcpy(larger.get(), data_.get(), size_);
  }
  data_ = std::move(larger);
  capacity_ = capacity;
}

}  // namespace forkrun
