#pragma once

#include <cstddef>
#include <string_view>

namespace forkrun::root_io {

/// How numbers are stored that have fewer bits in files than in memory.
struct Packing {
  double least{};
  double factor{};  ///< 0: sign, exponent and some bits of the mantissa
  int n_bits{};     ///< of the mantissa
  bool is_float{};  ///< as a plain float32

  [[nodiscard]] std::size_t n_bytes() const { return factor != 0 || is_float ? 4 : 3; }
};

/// As ROOT takes it from the comment behind a member, `title`.
[[nodiscard]] Packing packing_in(std::string_view title, bool is_float16);

}  // namespace forkrun::root_io
