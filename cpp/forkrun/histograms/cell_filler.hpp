#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <forkrun/histograms/cell_table.hpp>

namespace forkrun {

/// The fills of one thread, which go many at a time into a table: its own, or one that is shared.
class CellFiller {
 public:
  static constexpr std::size_t most_at_a_time = most_moments;

  CellFiller(Moments moments, CellTable& own);
  /// `n_at_a_time`: at most `most_at_a_time`; 1 keeps nothing back.
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
  /// Many fills at a time, of at most `n_at_a_time` entries whose places on the axes are known.
  /// `samples`: of a profile, else null; both are changed.
  void count(std::span<const FillAxis> axes, std::size_t n_entries);
  void add(std::span<const FillAxis> axes, std::span<double> weights, double* samples);
  /// How many fills are best brought at a time.
  [[nodiscard]] std::size_t n_at_a_time() const { return limit_; }
  void flush() {
    flush_counted();
    flush_added();
  }
  /// Forgets what was not flushed.
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
  // Memory is touched when it is filled, which it is not if bins are found of many at a time.
  std::unique_ptr<std::uint32_t[]> counted_;
  std::unique_ptr<std::uint32_t[]> cells_;
  std::unique_ptr<double[]> weights_;
  std::unique_ptr<double[]> samples_;  ///< of a profile, else null
  // What goes into a shared table, stripe by stripe.
  std::vector<std::uint32_t> ends_{};  ///< of stripes, in what is sorted
  std::vector<std::uint32_t> found_cells_{};
  std::vector<std::uint32_t> sorted_cells_{};
  std::vector<double> sorted_weights_{};
  std::vector<double> sorted_samples_{};
};

}  // namespace forkrun
