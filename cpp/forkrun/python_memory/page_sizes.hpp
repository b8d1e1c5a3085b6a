#pragma once

#include <cstddef>
#include <cstdint>

namespace forkrun::python_memory {

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

/// The first address from here on at which a huge page may begin.
[[nodiscard]] constexpr std::uintptr_t huge_page_from(std::uintptr_t address) {
  return (address + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes;
}

}  // namespace forkrun::python_memory
