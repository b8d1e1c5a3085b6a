#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <forkrun/histograms/axes.hpp>
#include <forkrun/histograms/exact_fills.hpp>
#include <forkrun/histograms/exact_sums.hpp>

namespace forkrun {

/// Memory of sums while several threads fill a histogram. No sum depends on it.
enum class HistogramMemory : std::uint8_t {
  automatic,  ///< copy while all copies are small, else buffered
  copy,       ///< each thread has its own table; always so for growing histograms
  shared,     ///< one table, and a lock for each fill: the least memory
  buffered,   ///< one table, which each thread fills in batches of some thousand
};

/// Weights of entries, each with one for each of `n_variations`, adjacent for each entry.
struct WeightMatrix {
  std::span<const double> values;
  std::size_t n_variations;

  [[nodiscard]] std::size_t n_entries() const {
    return n_variations == 0 ? 0 : values.size() / n_variations;
  }
  [[nodiscard]] std::span<const double> of_entry(std::size_t i) const {
    return values.subspan(i * n_variations, n_variations);
  }
};

/// A histogram of an analyzer: `HistogramOf` or `ProfileOf` some axes. Its sums are exact, so they
/// depend on the fills only, not on order or threads. Read while nobody fills.
class Histogram {
 public:
  Histogram(std::string name, std::string title, Moments moments,
            std::vector<AxisDescription> axes);
  Histogram(const Histogram&) = delete;
  Histogram& operator=(const Histogram&) = delete;
  virtual ~Histogram() = default;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& title() const { return title_; }
  [[nodiscard]] Moments moments() const { return moments_; }
  /// Axes as declared.
  [[nodiscard]] std::span<const AxisDescription> axes() const { return axes_; }

  void set_memory(HistogramMemory memory) { wanted_memory_ = memory; }
  /// From now on threads fill it at the same time; `n_threads`: expected number.
  void share(std::size_t n_threads);
  /// `automatic`: one thread at a time fills it, so there is no choice.
  [[nodiscard]] HistogramMemory memory() const { return memory_; }
  [[nodiscard]] std::size_t n_bytes_of_table() const;

  /// Whether the file has filled bins only, a THnSparse, as always for more than three axes.
  void set_sparse();
  [[nodiscard]] bool is_sparse() const { return is_sparse_; }

  /// One coordinate per axis; axes must be numeric.
  void fill(std::span<const double> coordinates, double weight = 1.0);
  void fill(double x, double weight = 1.0) { fill(std::span{&x, 1}, weight); }
  virtual void clear() = 0;

  /// Sums of all fills, or, if axes grow, of one thread's. The first axis runs fastest.
  struct Part {
    std::vector<AxisDescription> axes;
    ExactSums sums;
  };
  [[nodiscard]] virtual std::vector<Part> parts() = 0;
  /// Sums of weights and of their squares of the first part, rounded; valid until the next fill.
  [[nodiscard]] std::span<const double> values() { return rounded(0); }
  [[nodiscard]] std::span<const double> variances() { return rounded(1); }

 protected:
  [[nodiscard]] bool is_shared() const { return memory_ != HistogramMemory::automatic; }
  [[nodiscard]] std::size_t n_cells() const;
  /// Called once the memory for threads' fills is known.
  virtual void make_room_for_threads() = 0;
  virtual void fill_numbers(std::span<const double> coordinates, double weight) = 0;
  [[noreturn]] void refuse(const std::string& problem) const;

 private:
  [[nodiscard]] std::span<const double> rounded(std::size_t number);

  std::string name_;
  std::string title_;
  Moments moments_;
  std::vector<AxisDescription> axes_;
  HistogramMemory wanted_memory_ = HistogramMemory::automatic;
  HistogramMemory memory_ = HistogramMemory::automatic;
  bool is_sparse_ = false;
  std::vector<double> rounded_{};
};

[[nodiscard]] std::string_view name_of(HistogramMemory memory);

}  // namespace forkrun
