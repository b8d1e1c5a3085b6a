#include <forkrun/histograms/exact_fills.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#include <forkrun/histograms/vectorised.hpp>

namespace forkrun {

namespace {

constexpr std::size_t most_near_cells = 1 << 16;  // counts of so many cells stay in a near cache

template <typename T>
using Buffer = std::array<T, most_moments>;

bool is_ordinary_power_of_two(double width) {
  int exponent = 0;
  return std::frexp(width, &exponent) == 0.5 && std::abs(exponent) < 1000;
}

using Doubles = double __attribute__((vector_size(32)));
using Floats = float __attribute__((vector_size(16)));
using Int32s = std::int32_t __attribute__((vector_size(16)));

/// Arithmetic of boost-histogram's regular axis, without branches; no compiler vectorises it by
/// itself. Where the width is a power of two, a product with its inverse equals the quotient to the
/// last bit.
template <bool DIVIDES, typename T>
[[gnu::always_inline]] inline void find_bins_with(const FillAxis& axis, const T* x, std::size_t n,
                                                  std::int32_t offset, std::int32_t* bins) {
  const auto n_bins = static_cast<double>(axis.n_bins);
  const double at_end = axis.has_overflow ? n_bins : n_bins - 1;  // the upper edge
  const double factor = DIVIDES ? axis.width : 1 / axis.width;
  const double low = axis.low;
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    std::conditional_t<std::is_same_v<T, float>, Floats, Doubles> values;
    std::memcpy(&values, x + i, sizeof(values));
    const Doubles distance = __builtin_convertvector(values, Doubles) - low;
    const Doubles z = DIVIDES ? distance / factor : distance * factor;
    const Doubles below_end = z < 1 ? z * n_bins : n_bins + Doubles{};  // NaN: overflow
    const Doubles inside = z == 1 ? at_end + Doubles{} : below_end;
    const Doubles bin = z < 0 ? -1.0 + Doubles{} : inside;
    const Int32s found = __builtin_convertvector(bin, Int32s) + offset;
    std::memcpy(bins + i, &found, sizeof(found));
  }
  for (; i < n; ++i) {
    const double distance = static_cast<double>(x[i]) - low;
    const double z = DIVIDES ? distance / factor : distance * factor;
    const double below_end = z < 1 ? z * n_bins : n_bins;
    const double inside = z == 1 ? at_end : below_end;
    bins[i] = static_cast<std::int32_t>(z < 0 ? -1.0 : inside) + offset;
  }
}

/// Arithmetic of boost-histogram's variable axis: a binary search without branches, so that
/// searches of several entries overlap. NaN: overflow.
template <typename T>
[[gnu::always_inline]] inline void find_bins_between(const FillAxis& axis, const T* x,
                                                     std::size_t n, std::int32_t offset,
                                                     std::int32_t* bins) {
  const std::size_t n_edges = std::size_t{axis.n_bins} + 1;
  const double last = axis.edges[axis.n_bins];
  for (std::size_t i = 0; i < n; ++i) {
    const auto value = static_cast<double>(x[i]);
    const double* first = axis.edges;
    for (std::size_t n_left = n_edges; n_left > 1;) {
      const std::size_t half = n_left / 2;
      first += half & -std::size_t{!(value < first[half - 1])};  // half or nothing
      n_left -= half;
    }
    const std::int32_t n_below =
        static_cast<std::int32_t>(first - axis.edges) + std::int32_t{!(value < *first)};
    const std::int32_t at_end = std::int32_t{!axis.has_overflow} & std::int32_t{value == last};
    bins[i] = n_below - 1 - at_end + offset;
  }
}

template <typename T>
[[gnu::always_inline]] inline void find_bins_inline(const FillAxis& axis, const T* x, std::size_t n,
                                                    std::int32_t offset, std::int32_t* bins) {
  if (axis.edges != nullptr) {
    find_bins_between(axis, x, n, offset, bins);
  } else if (is_ordinary_power_of_two(axis.width)) {
    find_bins_with<false>(axis, x, n, offset, bins);
  } else {
    find_bins_with<true>(axis, x, n, offset, bins);
  }
}

FORKRUN_VECTORISED
void find_bins(const FillAxis& axis, const double* x, std::size_t n, std::int32_t offset,
               std::int32_t* bins) {
  find_bins_inline(axis, x, n, offset, bins);
}
FORKRUN_VECTORISED
void find_bins(const FillAxis& axis, const float* x, std::size_t n, std::int32_t offset,
               std::int32_t* bins) {
  find_bins_inline(axis, x, n, offset, bins);
}

FORKRUN_VECTORISED
std::size_t count_nan_among(const double* x, std::size_t n) {
  std::size_t n_nan = 0;
  for (std::size_t i = 0; i < n; ++i) {
    n_nan += x[i] != x[i] ? 1 : 0;
  }
  return n_nan;
}
FORKRUN_VECTORISED
std::size_t count_nan_among(const float* x, std::size_t n) {
  std::uint32_t n_nan = 0;
  for (std::size_t i = 0; i < n; ++i) {
    n_nan += x[i] != x[i] ? 1 : 0;
  }
  return n_nan;
}

/// Turns the bins of the first axis into cells; \returns the greatest.
FORKRUN_VECTORISED
std::uint32_t place_bins(const std::int32_t* bins, std::size_t n, std::uint32_t offset,
                         std::uint32_t* cells) {
  std::uint32_t greatest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    cells[i] = static_cast<std::uint32_t>(bins[i]) + offset;
    greatest = std::max(greatest, cells[i]);
  }
  return greatest;
}

/// Adds the bins of another axis, times its stride, to the cells; \returns the greatest bin.
FORKRUN_VECTORISED
std::uint32_t add_bins(const std::int32_t* bins, std::size_t n, std::uint32_t offset,
                       std::uint32_t stride, std::uint32_t* cells) {
  std::uint32_t greatest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t bin = static_cast<std::uint32_t>(bins[i]) + offset;
    greatest = std::max(greatest, bin);
    cells[i] += bin * stride;
  }
  return greatest;
}

/// Entries of a range: their cells, weights and samples.
class Stretch {
 public:
  Stretch(std::size_t first, std::size_t n) : first_{first}, n_{n} {}

  void find_cells(std::span<const FillAxis> axes) {
    std::uint32_t stride = 0;  // 0 for the first axis
    if (is_plain(axes.front())) {
      stride = find_cells_of(axes.front());
      axes = axes.subspan(1);
    }
    for (const auto& axis : axes) {
      const std::uint32_t extent = add_axis(axis, stride);
      stride = stride == 0 ? extent : stride * extent;
    }
  }

  void find_values(FillColumn weights, std::optional<FillColumn> samples) {
    columns_[n_columns_++] = column(weights, 0);
    if (samples) {
      columns_[n_columns_++] = column(*samples, 1);
    }
  }

  /// Appends entries inside all axes; \returns their number. `columns`: each as long as all
  /// entries, or null
  std::size_t copy_inside(std::uint32_t* cells, std::span<double* const> columns,
                          std::size_t n_before) const {
    if (!leaves_out_ && n_before == first_) {  // columns are in place
      std::copy_n(cells_.begin(), n_, cells + n_before);
      return n_before + n_;
    }
    std::size_t n = n_before;
    for (std::size_t i = 0; i < n_; ++i) {
      if (!leaves_out_ || !is_out_[i]) {
        cells[n] = cells_[i];
        for (double* const column : columns) {
          if (column != nullptr) {
            column[n] = column[first_ + i];
          }
        }
        ++n;
      }
    }
    return n;
  }

  [[nodiscard]] CellFills fills() {
    if (leaves_out_) {
      leave_out();
    }
    return {std::span{cells_}.first(n_), columns_[0], columns_[1]};
  }

  void count_in(std::uint32_t* counts, bool prefetches) {
    if (leaves_out_) {
      leave_out();
    }
    const std::size_t n_asked_for =
        prefetches && n_ > prefetch_distance ? n_ - prefetch_distance : 0;
    for (std::size_t i = 0; i < n_asked_for; ++i) {
      __builtin_prefetch(counts + cells_[i + prefetch_distance], 1);
      ++counts[cells_[i]];
    }
    for (std::size_t i = n_asked_for; i < n_; ++i) {
      ++counts[cells_[i]];
    }
  }

 private:
  /// Whether its bins are the cells of a histogram without other axes.
  static bool is_plain(const FillAxis& axis) {
    return axis.bins == nullptr && !axis.is_one && axis.has_underflow && axis.has_overflow;
  }

  /// Number of bins of the axis, flow included.
  std::uint32_t find_cells_of(const FillAxis& axis) {
    auto* const cells = reinterpret_cast<std::int32_t*>(cells_.data());
    axis.coordinates != nullptr ? find_bins(axis, axis.coordinates + first_, n_, 1, cells)
                                : find_bins(axis, axis.floats + first_, n_, 1, cells);
    return axis.n_bins + 2;
  }

  /// Number of bins of the axis, flow included.
  std::uint32_t add_axis(const FillAxis& axis, std::uint32_t stride) {
    const std::uint32_t extent =
        axis.n_bins + (axis.has_underflow ? 1U : 0U) + (axis.has_overflow ? 1U : 0U);
    const std::int32_t* const bins = bins_of(axis);
    const std::uint32_t offset = axis.has_underflow ? 1 : 0;
    const std::uint32_t greatest = stride == 0 ? place_bins(bins, n_, offset, cells_.data())
                                               : add_bins(bins, n_, offset, stride, cells_.data());
    if (greatest >= extent) {
      note_outside(bins, offset, extent);
    }
    return extent;
  }

  const std::int32_t* bins_of(const FillAxis& axis) {
    if (axis.bins != nullptr && !axis.is_one) {
      return axis.bins + first_;
    }
    if (axis.bins != nullptr) {
      std::fill_n(bins_.begin(), n_, *axis.bins);
    } else {
      const std::size_t n = axis.is_one ? 1 : n_;
      const std::size_t first = axis.is_one ? 0 : first_;
      axis.coordinates != nullptr ? find_bins(axis, axis.coordinates + first, n, 0, bins_.data())
                                  : find_bins(axis, axis.floats + first, n, 0, bins_.data());
      std::fill(bins_.begin() + n, bins_.begin() + n_, bins_[0]);
    }
    return bins_.data();
  }

  void note_outside(const std::int32_t* bins, std::uint32_t offset, std::uint32_t extent) {
    if (!leaves_out_) {
      std::fill_n(is_out_.begin(), n_, false);
    }
    leaves_out_ = true;
    for (std::size_t i = 0; i < n_; ++i) {
      is_out_[i] = is_out_[i] || static_cast<std::uint32_t>(bins[i]) + offset >= extent;
    }
  }

  const double* column(FillColumn column, std::size_t number) {
    if (!column.is_one && column.values != nullptr) {
      return column.values + first_;
    }
    auto& buffer = buffers_[number];
    if (column.is_one) {
      std::fill_n(buffer.begin(), n_, column.values != nullptr ? *column.values : *column.floats);
    } else {
      std::copy_n(column.floats + first_, n_, buffer.begin());
    }
    return buffer.data();
  }

  void leave_out() {
    std::size_t n_kept = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      if (is_out_[i]) {
        continue;
      }
      for (std::size_t s = 0; s < n_columns_; ++s) {
        kept_[s][n_kept] = columns_[s][i];
      }
      cells_[n_kept++] = cells_[i];
    }
    n_ = n_kept;
    for (std::size_t s = 0; s < n_columns_; ++s) {
      columns_[s] = kept_[s].data();
    }
  }

  std::size_t first_;
  std::size_t n_;
  bool leaves_out_{false};
  std::size_t n_columns_{0};
  std::array<const double*, 2> columns_{};  ///< weights, samples
  Buffer<std::uint32_t> cells_;
  Buffer<std::int32_t> bins_;
  Buffer<bool> is_out_;
  std::array<Buffer<double>, 2> buffers_;
  std::array<Buffer<double>, 2> kept_;
};

}  // namespace

std::size_t count_nan(std::span<const FillAxis> axes, std::size_t n_entries) {
  std::size_t n_nan = 0;
  for (const auto& axis : axes) {
    const std::size_t n = axis.is_one ? 1 : n_entries;
    const std::size_t n_found = axis.coordinates != nullptr ? count_nan_among(axis.coordinates, n)
                                : axis.floats != nullptr    ? count_nan_among(axis.floats, n)
                                                            : 0;
    n_nan += axis.is_one ? n_found * n_entries : n_found;
  }
  return n_nan;
}

void find_fills(std::span<const FillAxis> axes, FillColumn weights,
                std::optional<FillColumn> samples, std::size_t n_entries,
                const std::function<void(const CellFills&)>& add) {
  const std::size_t n_stretches = (n_entries + most_moments - 1) / most_moments;
  for (std::size_t k = 0; k < n_stretches; ++k) {  // of equal sizes: each has a fixed cost
    const std::size_t first = n_entries * k / n_stretches;
    Stretch stretch{first, n_entries * (k + 1) / n_stretches - first};
    stretch.find_cells(axes);
    stretch.find_values(weights, samples);
    add(stretch.fills());
  }
}

std::size_t find_cells(std::span<const FillAxis> axes, std::span<std::uint32_t> cells,
                       double* weights, double* samples) {
  std::size_t n = 0;
  for (std::size_t first = 0; first < cells.size(); first += most_moments) {
    Stretch stretch{first, std::min(most_moments, cells.size() - first)};
    stretch.find_cells(axes);
    n = stretch.copy_inside(cells.data(), std::array{weights, samples}, n);
  }
  return n;
}

void count_entries(std::span<std::uint32_t> counts, std::span<const FillAxis> axes,
                   std::size_t n_entries) {
  const bool prefetches = counts.size() > most_near_cells;
  for (std::size_t first = 0; first < n_entries; first += most_moments) {
    Stretch stretch{first, std::min(most_moments, n_entries - first)};
    stretch.find_cells(axes);
    stretch.count_in(counts.data(), prefetches);
  }
}

}  // namespace forkrun
