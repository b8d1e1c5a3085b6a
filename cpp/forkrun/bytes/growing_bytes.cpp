#include <forkrun/bytes/growing_bytes.hpp>

#include <algorithm>
#include <new>

namespace forkrun {

std::span<std::byte> Bytes::resize(std::size_t n) {
  if (n > capacity_) {
    *this = {};  // no content needs to move
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

/// Large memory is not copied, but remapped to a place with room.
void Bytes::grow(std::size_t capacity) {
  auto* larger = static_cast<std::byte*>(std::realloc(data_.get(), capacity));
  if (larger == nullptr) {
    throw std::bad_alloc{};
  }
  static_cast<void>(data_.release());  // freed, or the same
  data_.reset(larger);
  capacity_ = capacity;
}

}  // namespace forkrun
