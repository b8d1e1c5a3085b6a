#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <pybind11/numpy.h>

namespace forkrun::bindings {

template <typename T>
using Array = pybind11::array_t<T, pybind11::array::c_style | pybind11::array::forcecast>;

template <typename T>
std::span<const T> span_of(const Array<T>& array) {
  return {array.data(), static_cast<std::size_t>(array.size())};
}

inline void check_numbers(std::span<const std::uint32_t> cells, std::size_t n_cells) {
  for (const auto cell : cells) {
    if (cell >= n_cells) {
      throw pybind11::index_error("cell " + std::to_string(cell) + " of " +
                                  std::to_string(n_cells));
    }
  }
}

}  // namespace forkrun::bindings
