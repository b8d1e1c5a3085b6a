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

/// The sums of a histogram's cells, exact; fills of weight 1 are only counted. Memory is taken when
/// something is filled. Not thread-safe.
class CellTable {
 public:
  CellTable(Moments moments, std::size_t n_cells);
  CellTable(Moments moments, ExactSums sums);

  [[nodiscard]] std::size_t n_cells() const { return sums_.n_cells(); }
  [[nodiscard]] Moments moments() const { return moments_; }
  /// Fills of weight 1. \pre not a profile
  void count(std::span<const std::uint32_t> cells);
  void add(const CellFills& fills);
  /// Adds entries that `find_fills` finds; those without weights and samples are counted.
  void fill(std::span<const FillAxis> axes, FillColumn weights, FillColumn samples,
            std::size_t n_entries);
  [[nodiscard]] bool empty() const { return sums_.empty() && in_parts_.empty(); }
  /// See ExactSums::move_cells.
  void move_cells(std::span<const std::uint32_t> places, std::size_t n_cells);
  void clear();
  /// Takes what was filled into another one of as many cells.
  void take(CellTable& other);
  /// What was filled.
  [[nodiscard]] const ExactSums& total();
  /// What a table takes once it is filled, also with weights that two words hold.
  [[nodiscard]] static std::size_t n_bytes(Moments moments, std::size_t n_cells);

 private:
  Moments moments_;
  ExactSums sums_;
  SumsInParts in_parts_;  ///< fills that are not in `sums_` yet
};

/// A table that threads share. Its cells are in stripes, each with a lock; threads hold one at a
/// time. Room for values is made by one thread while no other adds.
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
  /// What was filled; not while others fill.
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
  std::shared_mutex room_{};  ///< shared: fills; exclusive: whatever moves words
  /// How many may still be added, and counted, without making room.
  std::atomic<std::int64_t> n_adds_left_{0};
  std::atomic<std::int64_t> n_counts_left_{0};
  std::span<std::uint32_t> counts_{};
  std::array<Lock, most_stripes> locks_{};
};

}  // namespace forkrun
