#include <forkrun/core/data/exact_fills.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace forkrun {

namespace {

constexpr std::size_t n_at_a_time = 512;  // in the first-level cache
constexpr std::size_t most_sums = 4;

template <typename T>
using Buffer = std::array<T, n_at_a_time>;

/// The arithmetic of boost-histogram's regular axis.
void find_bins(const FillAxis& axis, std::span<const double> coordinates, std::int32_t* bins) {
  const auto n_bins = static_cast<double>(axis.n_bins);
  const double low = axis.low;
  const double width = axis.width;
  const std::size_t n = coordinates.size();
  const double* const x = coordinates.data();
  for (std::size_t i = 0; i < n; ++i) {  // without branches: so it becomes vector instructions
    const double z = (x[i] - low) / width;
    const double scaled = z * n_bins;
    const double below_end = z < 1 ? scaled : n_bins;  // NaN: overflow
    bins[i] = static_cast<std::int32_t>(z < 0 ? -1.0 : below_end);
  }
  if (!axis.has_overflow) {  // the upper edge is in the last bin
    for (std::size_t i = 0; i < n; ++i) {
      bins[i] -= (x[i] - low) / width == 1 ? 1 : 0;
    }
  }
}

/// Entries of a stretch: their cells, and a column of values per sum.
class Stretch {
 public:
  Stretch(std::size_t first, std::size_t n) : first_{first}, n_{n} {}

  void find_cells(std::span<const FillAxis> axes) {
    std::fill_n(cells_.begin(), n_, 0);
    std::uint32_t stride = 1;
    for (const auto& axis : axes) {
      stride *= add_axis(axis, stride);
    }
  }

  void find_values(Moments moments, FillColumn weights, FillColumn samples) {
    const double* const w = column(weights);
    columns_[n_columns_++] = w;
    if (moments == Moments::weights || moments == Moments::weighted_means) {
      multiply(w, w);
    }
    if (moments == Moments::means || moments == Moments::weighted_means) {
      const double* const y = column(samples);
      multiply(w, y);
      multiply(columns_[n_columns_ - 1], y);
    }
  }

  void add_to(ExactSums& sums) {
    if (leaves_out_) {
      leave_out();
    }
    sums.add(std::span{cells_}.first(n_), std::span{columns_}.first(n_columns_));
  }

 private:
  /// Bins of the axis, flow included.
  std::uint32_t add_axis(const FillAxis& axis, std::uint32_t stride) {
    const std::uint32_t extent =
        axis.n_bins + (axis.has_underflow ? 1U : 0U) + (axis.has_overflow ? 1U : 0U);
    const std::int32_t* const bins = bins_of(axis);
    const std::uint32_t offset = axis.has_underflow ? 1 : 0;
    std::uint32_t n_outside = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      const std::uint32_t bin = static_cast<std::uint32_t>(bins[i]) + offset;
      n_outside += bin >= extent ? 1U : 0U;
      cells_[i] += bin * stride;
    }
    if (n_outside > 0) {
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
    } else if (axis.is_one) {
      find_bins(axis, {axis.coordinates, 1}, bins_.data());
      std::fill_n(bins_.begin() + 1, n_ - 1, bins_[0]);
    } else {
      find_bins(axis, {axis.coordinates + first_, n_}, bins_.data());
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

  const double* column(FillColumn column) {
    if (!column.is_one) {
      return column.values + first_;
    }
    auto& buffer = buffers_[n_buffers_++];
    std::fill_n(buffer.begin(), n_, *column.values);
    return buffer.data();
  }

  void multiply(const double* one, const double* other) {
    auto& buffer = buffers_[n_buffers_++];
    for (std::size_t i = 0; i < n_; ++i) {
      buffer[i] = one[i] * other[i];
    }
    columns_[n_columns_++] = buffer.data();
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
  std::size_t n_buffers_{0};
  std::array<const double*, most_sums> columns_{};
  Buffer<std::uint32_t> cells_;
  Buffer<std::int32_t> bins_;
  Buffer<bool> is_out_;
  std::array<Buffer<double>, most_sums + 2> buffers_;
  std::array<Buffer<double>, most_sums> kept_;
};

}  // namespace

std::size_t n_sums_of(Moments moments) {
  switch (moments) {
    case Moments::counts: return 1;
    case Moments::weights: return 2;
    case Moments::means: return 3;
    default: return 4;
  }
}

void fill_sums(ExactSums& sums, Moments moments, std::span<const FillAxis> axes, FillColumn weights,
               FillColumn samples, std::size_t n_entries) {
  for (std::size_t first = 0; first < n_entries; first += n_at_a_time) {
    Stretch stretch{first, std::min(n_at_a_time, n_entries - first)};
    stretch.find_cells(axes);
    stretch.find_values(moments, weights, samples);
    stretch.add_to(sums);
  }
}

}  // namespace forkrun
