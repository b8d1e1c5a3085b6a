#include <forkrun/histograms/moments.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>

#include <forkrun/histograms/vectorised.hpp>

namespace forkrun {

namespace {

constexpr std::size_t most_cells_in_doubles = most_moments / 4;
constexpr int carry_bits = 12;  // of sums of `most_moments`
/// Bits of values whose sums are exact in two doubles: 53 in each, less the carry bits, and one
/// because the upper part is rounded to nearest.
constexpr int most_bits = 2 * (53 - carry_bits) + 1;
/// Exponents far from the limits.
constexpr int most_exponent_in_doubles = 900;
constexpr int least_exponent = -1074;
constexpr std::size_t n_at_a_time = 256;
constexpr std::size_t n_pairs = 2;  // of sums of a cell: w and w², w y and w y²

using Doubles = double __attribute__((vector_size(32)));
using Flags = long long __attribute__((vector_size(32)));

/// Upper and lower parts of one sum, then of another.
using PartSums = Doubles;

/// How to cut the values of a column in two.
struct Splitter {
  double splitter;  ///< added and subtracted again, it leaves the upper part of a value
  double least;     ///< smaller magnitudes, except 0, have bits below the lower part
};
using Splitters = std::array<Splitter, 4>;

/// For values in a range.
Splitter cut_of(ExactSums::Range range) {
  const int low = range.high - most_bits;
  return {std::ldexp(1.5, range.high + carry_bits - 1),
          range.low < low ? std::ldexp(1, low + 52) : 0};
}

bool leave_some_out(const Splitters& cuts) {
  return std::ranges::any_of(cuts, [](const Splitter& cut) { return cut.least > 0; });
}

/// A cut value, and a mask of lanes left out of the sums.
struct Halves {
  Doubles high;
  Doubles low;
};
struct Lanes {
  Flags out{};
  /// Checks two values that are 0 together.
  [[gnu::always_inline]] void check(const Doubles& one, const Splitter& cut_of_one,
                                    const Doubles& other, const Splitter& cut_of_other) {
    const Flags no_sign = std::numeric_limits<long long>::max() + Flags{};
    const auto a = reinterpret_cast<Doubles>(reinterpret_cast<Flags>(one) & no_sign);
    const auto b = reinterpret_cast<Doubles>(reinterpret_cast<Flags>(other) & no_sign);
    out |= ((a < cut_of_one.least) | (b < cut_of_other.least)) & (one != 0);
  }
  [[gnu::always_inline]] Halves cut(const Doubles& value, const Splitter& cut) const {
    const Doubles kept = reinterpret_cast<Doubles>(reinterpret_cast<Flags>(value) & ~out);
    const Doubles high = (kept + cut.splitter) - cut.splitter;
    return {high, kept - high};
  }
};

/// Adds four values each of two columns to the sums of their cells.
[[gnu::always_inline]] inline void add_parts(const Halves& a, const Halves& b,
                                             const std::uint32_t* cells, PartSums* sums) {
  const Doubles a_even = __builtin_shufflevector(a.high, a.low, 0, 4, 2, 6);
  const Doubles a_odd = __builtin_shufflevector(a.high, a.low, 1, 5, 3, 7);
  const Doubles b_even = __builtin_shufflevector(b.high, b.low, 0, 4, 2, 6);
  const Doubles b_odd = __builtin_shufflevector(b.high, b.low, 1, 5, 3, 7);
  sums[cells[0] * n_pairs] += __builtin_shufflevector(a_even, b_even, 0, 1, 4, 5);
  sums[cells[1] * n_pairs] += __builtin_shufflevector(a_odd, b_odd, 0, 1, 4, 5);
  sums[cells[2] * n_pairs] += __builtin_shufflevector(a_even, b_even, 2, 3, 6, 7);
  sums[cells[3] * n_pairs] += __builtin_shufflevector(a_odd, b_odd, 2, 3, 6, 7);
}

template <bool CHECKS>
[[gnu::always_inline]] inline bool sum_inline(const CellFills& fills, const Splitters& cuts,
                                              PartSums* sums) {
  Flags any_out{};
  for (std::size_t i = 0; i < fills.cells.size(); i += 4) {
    const std::uint32_t* const cells = &fills.cells[i];
    Doubles w;
    Doubles y;
    std::memcpy(&w, fills.weights + i, sizeof(w));
    std::memcpy(&y, fills.samples + i, sizeof(y));
    const Doubles w2 = w * w;
    const Doubles wy = w * y;
    const Doubles wy2 = wy * y;
    Lanes lanes;
    if constexpr (CHECKS) {
      lanes.check(w, cuts[0], w2, cuts[1]);
      lanes.check(wy, cuts[2], wy2, cuts[3]);
    }
    add_parts(lanes.cut(wy, cuts[2]), lanes.cut(wy2, cuts[3]), cells, sums + 1);
    add_parts(lanes.cut(w, cuts[0]), lanes.cut(w2, cuts[1]), cells, sums);
    any_out |= lanes.out;
  }
  return (any_out[0] | any_out[1] | any_out[2] | any_out[3]) != 0;
}

/// Adds the parts of w and w² to sums[2 * cell], and of w y and w y² to the next sums. \returns
/// whether some entries were left out. \pre a multiple of 4 entries
FORKRUN_VECTORISED
bool sum_samples(const CellFills& fills, const Splitters& cuts, PartSums* sums) {
  return leave_some_out(cuts) ? sum_inline<true>(fills, cuts, sums)
                              : sum_inline<false>(fills, cuts, sums);
}

bool is_left_out(const CellFills& fills, std::size_t i, const Splitters& cuts) {
  const auto is_small = [](double value, const Splitter& cut) {
    return value != 0 && std::abs(value) < cut.least;
  };
  const double w = fills.weights[i];
  const double wy = w * fills.samples[i];
  return is_small(w, cuts[0]) || is_small(w * w, cuts[1]) || is_small(wy, cuts[2]) ||
         is_small(wy * fills.samples[i], cuts[3]);
}

/// Range of products of normal numbers. \pre neither range is empty
ExactSums::Range product_range(ExactSums::Range a, ExactSums::Range b) {
  return {std::max(least_exponent, a.low + b.low + 52), a.high + b.high};
}

/// Ranges of w, w², w y and w y²; nothing if they are too near to the limits of exponents.
std::optional<std::array<ExactSums::Range, 4>> ranges_of_moments(const CellFills& fills) {
  const std::array columns{fills.weights, fills.samples};
  const auto given = ExactSums::ranges_of(columns, fills.cells.size());
  if (!given || (*given)[0].empty() || (*given)[1].empty()) {
    return std::nullopt;
  }
  const auto w = (*given)[0];
  const auto y = (*given)[1];
  const auto wy = product_range(w, y);
  const std::array ranges{w, product_range(w, w), wy, product_range(wy, y)};
  const auto is_ordinary = [](const ExactSums::Range& range) {
    return range.low > -most_exponent_in_doubles && std::abs(range.high) < most_exponent_in_doubles;
  };
  return is_ordinary(w) && is_ordinary(y) && std::ranges::all_of(ranges, is_ordinary)
             ? std::optional{ranges}
             : std::nullopt;
}

/// Selects the sums among those of w, w², w y and w y².
std::array<std::size_t, 4> products_of(Moments moments) {
  return moments == Moments::means ? std::array<std::size_t, 4>{0, 2, 3}
                                   : std::array<std::size_t, 4>{0, 1, 2, 3};
}

/// Entries of a range, summed in doubles by cell.
class SumsInDoubles {
 public:
  SumsInDoubles(std::size_t n_cells, const Splitters& cuts) : n_cells_{n_cells}, cuts_{cuts} {
    std::fill_n(sums_.begin(), n_cells * n_pairs, PartSums{});
  }

  /// Adds a multiple of 4 entries.
  void add(const CellFills& fills) {
    for (std::size_t first = 0; first < fills.cells.size(); first += n_at_a_time) {
      const auto some = fills.part(first, std::min(n_at_a_time, fills.cells.size() - first));
      const bool has_left_out = sum_samples(some, cuts_, sums_.data());
      for (std::size_t i = 0; has_left_out && i < some.cells.size(); ++i) {
        if (is_left_out(some, i, cuts_)) {
          leave(some, i);
        }
      }
    }
  }
  /// Takes an entry that was left out of the sums.
  void leave(const CellFills& fills, std::size_t i) {
    left_cells_[n_left_] = fills.cells[i];
    left_weights_[n_left_] = fills.weights[i];
    left_samples_[n_left_++] = fills.samples[i];
  }
  /// \pre there is room for the values
  void add_to(ExactSums& sums, Moments moments) const {
    for (std::size_t first = 0; first < n_cells_; first += n_at_a_time) {
      add_cells_to(sums, moments, first, std::min(n_at_a_time, n_cells_ - first));
    }
    if (n_left_ > 0) {
      const CellFills left{std::span{left_cells_}.first(n_left_), left_weights_.data(),
                           left_samples_.data()};
      const MomentColumns columns{moments, left};
      sums.add(left.cells, columns.columns());
    }
  }

 private:
  void add_cells_to(ExactSums& sums, Moments moments, std::size_t first, std::size_t n) const {
    std::array<std::uint32_t, n_at_a_time> cells;
    std::iota(cells.begin(), cells.begin() + n, static_cast<std::uint32_t>(first));
    std::array<std::array<double, n_at_a_time>, 4> parts;
    const auto products = products_of(moments);
    for (const std::size_t part : {0U, 1U}) {
      std::array<const double*, 4> columns{};
      for (std::size_t s = 0; s < sums.n_sums(); ++s) {
        const std::size_t pair = products[s] / 2;
        const std::size_t lane = products[s] % 2 * 2 + part;
        for (std::size_t i = 0; i < n; ++i) {
          parts[s][i] = sums_[(first + i) * n_pairs + pair][lane];
        }
        columns[s] = parts[s].data();
      }
      sums.add_sums_in_room(std::span{cells}.first(n), std::span{columns}.first(sums.n_sums()));
    }
  }

  std::size_t n_cells_;
  Splitters cuts_;
  std::size_t n_left_{0};
  alignas(64) std::array<PartSums, n_pairs * most_cells_in_doubles> sums_;
  std::array<std::uint32_t, most_moments> left_cells_;
  std::array<double, most_moments> left_weights_;
  std::array<double, most_moments> left_samples_;
};

/// Adds many entries with samples, in few cells: these are first summed in doubles, each value in
/// two parts, so that all of these sums are exact. Most entries then cost one or two vector
/// additions; the few entries with too small values are added one by one. \returns false, without
/// adding, if that does not pay, or would not be exact. \pre at most `most_moments` entries
bool add_in_doubles(ExactSums& sums, Moments moments, const CellFills& fills) {
  const std::size_t n = fills.cells.size();
  if (sums.n_cells() > most_cells_in_doubles || n < 4 * sums.n_cells()) {
    return false;
  }
  auto ranges = ranges_of_moments(fills);
  if (!ranges) {
    return false;
  }
  Splitters cuts{};
  ExactSums::Ranges of_sums{};
  for (std::size_t k = 0; k < cuts.size(); ++k) {
    auto& range = (*ranges)[k];
    cuts[k] = cut_of(range);
    range.low = std::max(range.low, range.high - most_bits);
  }
  if (!has_squares(moments)) {
    cuts[1].least = 0;  // not summed
  }
  for (std::size_t s = 0; s < sums.n_sums(); ++s) {
    of_sums[s] = (*ranges)[products_of(moments)[s]];
  }
  sums.make_room(of_sums, n);
  SumsInDoubles in_doubles{sums.n_cells(), cuts};
  const std::size_t n_in_fours = n / 4 * 4;
  in_doubles.add(fills.part(0, n_in_fours));
  for (std::size_t i = n_in_fours; i < n; ++i) {
    in_doubles.leave(fills, i);
  }
  in_doubles.add_to(sums, moments);
  return true;
}

FORKRUN_VECTORISED
void multiply_columns(const double* one, const double* other, std::size_t n, double* products) {
  for (std::size_t i = 0; i < n; ++i) {
    products[i] = one[i] * other[i];
  }
}

}  // namespace

std::size_t n_sums_of(Moments moments) {
  return std::size_t{1} + (has_squares(moments) ? 1 : 0) + (has_samples(moments) ? 2 : 0);
}

MomentColumns::MomentColumns(Moments moments, const CellFills& fills) {
  const std::size_t n = fills.cells.size();
  columns_[n_columns_++] = fills.weights;
  if (has_squares(moments)) {
    multiply(fills.weights, fills.weights, n);
  }
  if (has_samples(moments)) {
    multiply(fills.weights, fills.samples, n);
    multiply(columns_[n_columns_ - 1], fills.samples, n);
  }
}

void MomentColumns::multiply(const double* one, const double* other, std::size_t n) {
  double* const products = products_[n_products_++].data();
  multiply_columns(one, other, n, products);
  columns_[n_columns_++] = products;
}

void add_moments(ExactSums& sums, Moments moments, const CellFills& fills) {
  for (std::size_t first = 0; first < fills.cells.size(); first += most_moments) {
    const auto some = fills.part(first, std::min(most_moments, fills.cells.size() - first));
    if (!has_samples(moments) || !add_in_doubles(sums, moments, some)) {
      const MomentColumns columns{moments, some};
      sums.add(some.cells, columns.columns());
    }
  }
}

}  // namespace forkrun
