#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>

#include <forkrun/concurrency/cache_lines.hpp>
#include <forkrun/histograms/exact_fills.hpp>
#include <forkrun/histograms/exact_sums.hpp>
#include <forkrun/histograms/moments.hpp>
#include <forkrun/histograms/sums_in_parts.hpp>

namespace forkrun {

/// Exact sums of a histogram's cells; fills of weight 1 are only counted. Memory is taken at the
/// first fill. Not thread-safe.
class CellTable {
 public:
  CellTable(Moments moments, std::size_t n_cells);
  CellTable(Moments moments, ExactSums sums);

  [[nodiscard]] std::size_t n_cells() const { return sums_.n_cells(); }
  [[nodiscard]] Moments moments() const { return moments_; }
  /// Fills of weight 1. \pre not a profile
  void count(std::span<const std::uint32_t> cells);
  void add(const CellFills& fills);
  /// Adds entries found by `find_fills`; entries without weights and samples are counted.
  void fill(std::span<const FillAxis> axes, FillColumn weights, FillColumn samples,
            std::size_t n_entries);
  [[nodiscard]] bool empty() const { return sums_.empty() && in_parts_.empty(); }
  /// See ExactSums::move_cells.
  void move_cells(std::span<const std::uint32_t> places, std::size_t n_cells);
  void clear();
  /// Moves the fills into another table with as many cells.
  void take(CellTable& other);
  /// Sums of all fills.
  [[nodiscard]] const ExactSums& total();
  /// Memory of a filled table, including weights of two words.
  [[nodiscard]] static std::size_t n_bytes(Moments moments, std::size_t n_cells);

 private:
  Moments moments_;
  ExactSums sums_;
  SumsInParts in_parts_;  ///< fills that are not in `sums_` yet
};

/// A table shared by threads. Its cells are in stripes, each with a lock; threads hold one at a
/// time. One thread makes room for values while no other adds.
class SharedTable {
 public:
  SharedTable(Moments moments, std::size_t n_cells);

  struct Stripes {
    std::size_t n;
    unsigned shift;
    [[nodiscard]] std::size_t number_of(std::uint32_t cell) const { return cell >> shift; }
  };
  [[nodiscard]] Stripes stripes() const { return stripes_; }
  /// Fills of weight 1. `ends`: (stripes().n,) of stripes in `cells`, which are sorted by them.
  void count(std::span<const std::uint32_t> cells, std::span<const std::uint32_t> ends);
  /// At most `most_moments` entries, sorted by stripes.
  void add(const CellFills& fills, std::span<const std::uint32_t> ends);
  /// Not while others fill.
  void clear();
  /// Sums of all fills; not while others fill.
  [[nodiscard]] const ExactSums& total();

  static constexpr std::size_t most_stripes = 32;

 private:
  struct alignas(cache_line_pair) Lock {
    std::mutex mutex{};
  };
  template <typename Call>
  void for_each_stripe(std::span<const std::uint32_t> ends, const Call& call);

  Moments moments_;
  ExactSums sums_;
  Stripes stripes_;
  std::shared_mutex room_{};  ///< shared: fills; exclusive: moves of words
  /// Number of fills that may still be added, and counted, without making room.
  std::atomic<std::int64_t> n_adds_left_{0};
  std::atomic<std::int64_t> n_counts_left_{0};
  std::span<std::uint32_t> counts_{};
  std::array<Lock, most_stripes> locks_{};
};

}  // namespace forkrun
