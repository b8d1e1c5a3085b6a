#pragma once

#include <atomic>
#include <cstddef>

namespace forkrun::root_io {

/// Room for baskets that stay unpacked, because entries are not asked for in the order in which
/// they are stored. Several threads may take of it.
class UnpackedRoom {
 public:
  explicit UnpackedRoom(std::size_t n_bytes) : n_free_{static_cast<std::ptrdiff_t>(n_bytes)} {}

  /// Whether there was that much room.
  [[nodiscard]] bool take(std::size_t n_bytes) {
    if (n_free_.fetch_sub(static_cast<std::ptrdiff_t>(n_bytes)) >=
        static_cast<std::ptrdiff_t>(n_bytes)) {
      return true;
    }
    give_back(n_bytes);
    return false;
  }
  void give_back(std::size_t n_bytes) { n_free_ += static_cast<std::ptrdiff_t>(n_bytes); }

 private:
  std::atomic<std::ptrdiff_t> n_free_;
};

}  // namespace forkrun::root_io
