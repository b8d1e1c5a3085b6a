#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <forkrun/concurrency/cache_lines.hpp>
#include <forkrun/core/data/exact_fills.hpp>
#include <forkrun/core/data/exact_sums.hpp>

namespace forkrun {

/// Fills of cells, as columns. `samples`: of a profile, else null.
struct CellFills {
  std::span<const std::uint32_t> cells;
  const double* weights{};
  const double* samples{};
};

/// The sums of a histogram's cells, exact; fills of weight 1 are only counted. Memory is taken when
/// something is filled. Not thread-safe.
class CellTable {
 public:
  CellTable(Moments moments, std::size_t n_cells);
  CellTable(Moments moments, ExactSums sums);

  [[nodiscard]] std::size_t n_cells() const { return weighted_.n_cells(); }
  [[nodiscard]] Moments moments() const { return moments_; }
  /// One number for each cell, which `add` does not touch. \pre not a profile
  [[nodiscard]] std::uint64_t* counts();
  void count(std::span<const std::uint32_t> cells);
  void add(const CellFills& fills);
  /// Adds entries as `fill_sums` does; those without weights and samples are counted.
  void fill(std::span<const FillAxis> axes, FillColumn weights, FillColumn samples,
            std::size_t n_entries);
  [[nodiscard]] bool empty() const { return counts_.empty() && weighted_.empty(); }
  void clear_cell(std::size_t cell);
  /// See ExactSums::move_cells.
  void move_cells(std::span<const std::uint32_t> places, std::size_t n_cells);
  void clear();
  [[nodiscard]] ExactSums total() const;
  /// What a table takes once it is filled with weights that two words hold.
  [[nodiscard]] static std::size_t n_bytes(Moments moments, std::size_t n_cells);

 private:
  Moments moments_;
  ExactSums weighted_;
  std::vector<std::uint64_t> counts_{};
};

/// A table that threads share: stripes of cells, each with a lock. Threads hold one at a time.
class SharedTable {
 public:
  SharedTable(Moments moments, std::size_t n_cells);

  [[nodiscard]] std::size_t n_stripes() const { return stripes_.size(); }
  [[nodiscard]] std::size_t stripe_of(std::uint32_t cell) const { return cell >> shift_; }
  /// All cells of a fill are in this stripe. \pre 0 < cells
  void count(std::size_t stripe, std::span<std::uint32_t> cells);
  void add(std::size_t stripe, std::span<std::uint32_t> cells, const double* weights,
           const double* samples);
  /// Not while others fill.
  void clear();
  [[nodiscard]] ExactSums total() const;

  static constexpr std::size_t most_stripes = 32;

 private:
  struct alignas(cache_line_pair) Stripe {
    Stripe(Moments moments, std::size_t n_cells) : table{moments, n_cells} {}
    std::mutex mutex{};
    CellTable table;
  };
  void make_local(std::span<std::uint32_t> cells) const;

  std::size_t n_sums_;
  std::size_t n_cells_;
  unsigned shift_{};
  std::vector<std::unique_ptr<Stripe>> stripes_{};
};

}  // namespace forkrun
