#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <forkrun/histograms/cell_table.hpp>

namespace forkrun {

/// Fills of one thread, added in batches to a table: its own, or a shared one.
class CellFiller {
 public:
  static constexpr std::size_t most_at_a_time = most_moments;

  CellFiller(Moments moments, CellTable& own);
  /// `n_at_a_time`: at most `most_at_a_time`; 1 fills at once.
  CellFiller(Moments moments, SharedTable& shared, std::size_t n_at_a_time);

  /// A fill of weight 1. \pre not a profile
  void count(std::uint32_t cell) {
    counted_[n_counted_] = cell;
    if (++n_counted_ == limit_) {
      flush_counted();
    }
  }
  void add(std::uint32_t cell, double weight) {
    cells_[n_] = cell;
    weights_[n_] = weight;
    if (++n_ == limit_) {
      flush_added();
    }
  }
  void add(std::uint32_t cell, double weight, double sample) {
    samples_[n_] = sample;
    add(cell, weight);
  }
  /// A batch of fills, of at most `n_at_a_time` entries with known bins. `samples`: of a profile,
  /// else null; both are changed.
  void count(std::span<const FillAxis> axes, std::size_t n_entries);
  void add(std::span<const FillAxis> axes, std::span<double> weights, double* samples);
  /// Best size of a batch.
  [[nodiscard]] std::size_t n_at_a_time() const { return limit_; }
  void flush() {
    flush_counted();
    flush_added();
  }
  /// Drops fills that were not flushed.
  void clear() {
    n_counted_ = 0;
    n_ = 0;
  }

 private:
  CellFiller(Moments moments, CellTable* own, SharedTable* shared, std::size_t limit);
  void flush_counted();
  void flush_added();
  void count_shared(std::span<const std::uint32_t> cells);
  void add_shared(const CellFills& fills);
  void find_starts(std::span<const std::uint32_t> cells);

  CellTable* own_;
  SharedTable* shared_;
  std::size_t limit_;
  std::size_t n_counted_{};
  std::size_t n_{};
  // Memory is touched at the first fill, never when bins are found in batches.
  std::unique_ptr<std::uint32_t[]> counted_;
  std::unique_ptr<std::uint32_t[]> cells_;
  std::unique_ptr<double[]> weights_;
  std::unique_ptr<double[]> samples_;  ///< of a profile, else null
  // Fills for a shared table, stripe by stripe.
  std::vector<std::uint32_t> ends_{};  ///< of stripes, in the sorted fills
  std::vector<std::uint32_t> found_cells_{};
  std::vector<std::uint32_t> sorted_cells_{};
  std::vector<double> sorted_weights_{};
  std::vector<double> sorted_samples_{};
};

}  // namespace forkrun
