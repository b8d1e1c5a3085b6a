#pragma once

#include <cstddef>
#include <cstdint>

#include <forkrun/histograms/exact_sums.hpp>
#include <forkrun/histograms/moments.hpp>
#include <forkrun/histograms/table_memory.hpp>

namespace forkrun {

/// Σw and Σw² of cells, for many fills with weights of like magnitude. Each value is cut in two
/// integer parts, and each part has its own sum: so nothing is carried between them, and a fill is
/// one addition of a vector. Values that do not fit go into the given `ExactSums`, which receives
/// all sums before it is read.
class SumsInParts {
 public:
  explicit SumsInParts(std::size_t n_cells) : n_cells_{n_cells} {}

  [[nodiscard]] bool empty() const { return n_left_ == most_adds; }
  /// Adds entries of a histogram of weights.
  void add(const CellFills& fills, ExactSums& others);
  /// Moves all sums to `sums`.
  void move_to(ExactSums& sums);
  /// Takes the sums of another one, if both cut their weights alike. \returns whether it did
  [[nodiscard]] bool take(SumsInParts& other);
  void clear();

  /// Larger tables wait for memory in any way of adding.
  static constexpr std::size_t most_cells = std::size_t{1} << 16;

 private:
  static constexpr std::uint32_t most_adds = (std::uint32_t{1} << 20) - 1;

  /// Chooses the range of weights that includes these. \returns false if it cannot, or does not pay
  [[nodiscard]] bool begin(const CellFills& fills);
  void add_some(const CellFills& fills, ExactSums& others);
  /// \returns false if some were left out
  [[nodiscard]] bool add_that_fit(const CellFills& fills);

  [[nodiscard]] std::uint32_t n_added() const { return most_adds - n_left_; }

  std::size_t n_cells_;
  int high_{};                       ///< weights are below 2^high_
  std::uint32_t n_left_{most_adds};  ///< additions left before a part could overflow
  /// By cell: lower parts of Σw and Σw², then upper ones.
  TableMemory<std::uint64_t> parts_{};
};

}  // namespace forkrun
