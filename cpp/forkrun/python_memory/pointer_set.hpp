#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <forkrun/random/mixing.hpp>

namespace forkrun::python_memory {

/// Turns neighbouring pointers into unrelated numbers, and null, too, which `mix` alone maps to 0.
[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t value) {
  return mix(value + 0x9e3779b97f4a7c15U);
}

[[nodiscard]] inline std::uint64_t mixed(const void* pointer) {
  return mixed(std::bit_cast<std::uint64_t>(pointer));
}

/// Pointers in one flat table. A set of nodes would leave as many holes in the heap for children to
/// inherit; a large table is returned to the operating system as a whole.
class PointerSet {
 public:
  /// False if it was there before. Not for null.
  bool insert(const void* pointer) {
    if (2 * (size_ + 1) > table_.size()) {
      grow();
    }
    const void*& place = table_[index_of(pointer)];
    if (place != nullptr) {
      return false;
    }
    place = pointer;
    ++size_;
    return true;
  }

  [[nodiscard]] bool contains(const void* pointer) const {
    return !table_.empty() && table_[index_of(pointer)] != nullptr;
  }

 private:
  /// Its slot, or its slot to be.
  [[nodiscard]] std::size_t index_of(const void* pointer) const {
    auto i = mixed(pointer) & (table_.size() - 1);
    while (table_[i] != nullptr && table_[i] != pointer) {
      i = (i + 1) & (table_.size() - 1);
    }
    return i;
  }

  void grow() {
    auto before = std::vector<const void*>(table_.empty() ? 1024 : 2 * table_.size());
    before.swap(table_);
    for (const void* pointer : before) {
      if (pointer != nullptr) {
        table_[index_of(pointer)] = pointer;
      }
    }
  }

  std::vector<const void*> table_;
  std::size_t size_ = 0;
};

}  // namespace forkrun::python_memory
