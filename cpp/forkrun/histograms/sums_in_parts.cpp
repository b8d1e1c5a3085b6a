#include <forkrun/histograms/sums_in_parts.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include <forkrun/histograms/fixed_point.hpp>
#include <forkrun/histograms/vectorised.hpp>

namespace forkrun {

using namespace fixed_point;

namespace {

constexpr std::size_t fewest_fills = 256;         // fewer go directly into the words
constexpr std::size_t most_cells_of_fill = 64;    // memory is cleared, and read at the end
constexpr std::size_t most_out = 4;               // one in 4: else another way is faster
constexpr std::size_t fewest_of_window = 8;       // fills per cell: ending a window takes time
constexpr std::size_t most_near_bytes = 1 << 18;  // larger tables exceed near caches
constexpr std::size_t numbers_of_cell = 4;
/// Exponents of the greatest weight for which its square, and the lowest bit of that, are far from
/// the limits.
constexpr int most_exponent = 400;

using Doubles = double __attribute__((vector_size(32)));
using Int64s = long long __attribute__((vector_size(32), may_alias));

/// Cuts weights, from `least` to below `end`, and their squares. A vector has the values of two
/// entries: a weight, its square, the other weight, its square.
struct Cuts {
  double least;
  double end;
  /// Numbers whose addition leaves a part of a value, as an integer, in the lowest bits of a
  /// double.
  Doubles upper;
  Doubles lower;
};

struct Parts {
  Int64s lower;
  Int64s upper;
};
[[gnu::always_inline]] inline Parts cut(const Doubles& values, const Cuts& cuts) {
  const Doubles upper = values + cuts.upper;
  const Doubles rest = values - (upper - cuts.upper);
  const Doubles lower = rest + cuts.lower;
  return {reinterpret_cast<Int64s>(lower) - reinterpret_cast<Int64s>(cuts.lower),
          reinterpret_cast<Int64s>(upper) - reinterpret_cast<Int64s>(cuts.upper)};
}

/// \returns whether all fit; others are left out. `n_ahead`: cells to prefetch. \pre a multiple of
/// 4 entries
FORKRUN_VECTORISED
bool add_parts(const CellFills& fills, std::size_t n_ahead, const Cuts& cuts, Int64s* sums) {
  const Int64s no_sign = std::numeric_limits<long long>::max() + Int64s{};
  const std::uint32_t* const cells = fills.cells.data();
  const std::size_t n = fills.cells.size();
  Int64s all_fit = ~Int64s{};
  for (std::size_t i = 0; i < n; i += 4) {
    if (i + prefetch_distance + 4 <= n_ahead) {
      for (std::size_t k = i + prefetch_distance; k < i + prefetch_distance + 4; ++k) {
        __builtin_prefetch(sums + cells[k], 1);
      }
    }
    Doubles w;
    std::memcpy(&w, fills.weights + i, sizeof(w));
    const auto magnitude = reinterpret_cast<Doubles>(reinterpret_cast<Int64s>(w) & no_sign);
    const Int64s fits = (magnitude >= cuts.least) & (magnitude < cuts.end);
    all_fit &= fits | (w == 0);
    w = reinterpret_cast<Doubles>(reinterpret_cast<Int64s>(w) & fits);
    const Doubles w2 = w * w;
    const Parts even = cut(__builtin_shufflevector(w, w2, 0, 4, 2, 6), cuts);
    const Parts odd = cut(__builtin_shufflevector(w, w2, 1, 5, 3, 7), cuts);
    sums[cells[i]] += __builtin_shufflevector(even.lower, even.upper, 0, 1, 4, 5);
    sums[cells[i + 1]] += __builtin_shufflevector(odd.lower, odd.upper, 0, 1, 4, 5);
    sums[cells[i + 2]] += __builtin_shufflevector(even.lower, even.upper, 2, 3, 6, 7);
    sums[cells[i + 3]] += __builtin_shufflevector(odd.lower, odd.upper, 2, 3, 6, 7);
  }
  return (all_fit[0] & all_fit[1] & all_fit[2] & all_fit[3]) != 0;
}

/// Without a branch, which would often be mispredicted.
[[gnu::always_inline]] inline bool is_left_out(double w, const Cuts& cuts) {
  const double magnitude = std::abs(w);
  return static_cast<bool>(int{w != 0} &
                           (int{!(magnitude >= cuts.least)} | int{!(magnitude < cuts.end)}));
}

/// Entries that go into other sums.
class Others {
 public:
  Others(const CellFills& fills, const Cuts& cuts) {
    for (std::size_t i = 0; i < fills.cells.size(); ++i) {
      cells_[n_] = fills.cells[i];
      weights_[n_] = fills.weights[i];
      n_ += is_left_out(fills.weights[i], cuts);
    }
  }
  [[nodiscard]] std::size_t size() const { return n_; }
  void add_to(ExactSums& sums) const {
    add_moments(sums, Moments::weights, {std::span{cells_}.first(n_), weights_.data()});
  }

 private:
  std::size_t n_{0};
  std::array<std::uint32_t, most_moments> cells_;
  std::array<double, most_moments> weights_;
};

/// Exponents of the lowest bits of upper and lower parts are `high` less these.
constexpr int upper_bits = 43;
constexpr int lower_bits = 44;
constexpr int all_bits = upper_bits + lower_bits;
/// Weights are at least 2^(high - this): 53 bits of their squares, at twice as many, fit.
constexpr int n_binades = 17;
static_assert(2 * n_binades + fraction_bits < all_bits);

Cuts cuts_below(int high) {
  const auto cut_at = [](int low) { return std::ldexp(1.5, low + fraction_bits); };
  const std::array upper{cut_at(high - upper_bits), cut_at(2 * high - upper_bits)};
  const std::array lower{cut_at(high - all_bits), cut_at(2 * high - all_bits)};
  return {std::ldexp(1, high - n_binades), std::ldexp(1, high),
          Doubles{upper[0], upper[1], upper[0], upper[1]},
          Doubles{lower[0], lower[1], lower[0], lower[1]}};
}

/// A number of a lower and an upper part.
UnsignedWide joined(std::uint64_t lower, std::uint64_t upper) {
  const auto high = static_cast<Wide>(static_cast<std::int64_t>(upper)) * (Wide{1} << lower_bits);
  return static_cast<UnsignedWide>(high + static_cast<std::int64_t>(lower));
}

/// Makes numbers of two words from parts; \returns the bits set in any of the first, and of the
/// second numbers.
std::array<UnsignedWide, 2> join_parts(std::span<std::uint64_t> words) {
  std::array<UnsignedWide, 2> bits{};
  for (std::size_t k = 0; k < words.size(); k += numbers_of_cell) {
    const std::array numbers{joined(words[k], words[k + 2]), joined(words[k + 1], words[k + 3])};
    for (std::size_t s = 0; s < numbers.size(); ++s) {
      words[k + 2 * s] = static_cast<std::uint64_t>(numbers[s]);
      words[k + 2 * s + 1] = static_cast<std::uint64_t>(numbers[s] >> word_bits);
      bits[s] |= numbers[s];
    }
  }
  return bits;
}

/// Position of the lowest set bit. \pre there is one
int lowest_bit_of(UnsignedWide bits) {
  const auto low = static_cast<std::uint64_t>(bits);
  return low != 0 ? std::countr_zero(low)
                  : word_bits + std::countr_zero(static_cast<std::uint64_t>(bits >> word_bits));
}

}  // namespace

void SumsInParts::clear() { *this = SumsInParts{n_cells_}; }

void SumsInParts::add(const CellFills& fills, ExactSums& others) {
  for (std::size_t first = 0; first < fills.cells.size(); first += most_moments) {
    add_some(fills.part(first, std::min(most_moments, fills.cells.size() - first)), others);
  }
}

bool SumsInParts::begin(const CellFills& fills) {
  const std::size_t n = fills.cells.size();
  if (n_cells_ > most_cells || n < std::max(fewest_fills, n_cells_ / most_cells_of_fill)) {
    return false;
  }
  const auto ranges = ExactSums::ranges_of(std::span{&fills.weights, 1}, n);
  if (!ranges || (*ranges)[0].empty() || std::abs((*ranges)[0].high) > most_exponent) {
    return false;
  }
  high_ = (*ranges)[0].high + 1;  // later weights may be greater
  const Cuts cuts = cuts_below(high_);
  std::size_t n_out = 0;
  for (std::size_t i = 0; i < n; ++i) {
    n_out += is_left_out(fills.weights[i], cuts);
  }
  if (n_out > n / most_out) {
    return false;
  }
  parts_ = TableMemory<std::uint64_t>(n_cells_ * numbers_of_cell);
  return true;
}

void SumsInParts::add_some(const CellFills& fills, ExactSums& others) {
  const std::size_t n = fills.cells.size();
  if (n > n_left_) {
    move_to(others);
  }
  if (empty() && !begin(fills)) {
    return add_moments(others, Moments::weights, fills);
  }
  n_left_ -= static_cast<std::uint32_t>(n);
  if (!add_that_fit(fills)) {
    const Others left{fills, cuts_below(high_)};
    left.add_to(others);
    if (left.size() > n / most_out && n_added() > fewest_of_window * n_cells_) {
      move_to(others);  // and begin again, with the present weights
    }
  }
}

bool SumsInParts::add_that_fit(const CellFills& fills) {
  const std::size_t n = fills.cells.size();
  const std::size_t n_fours = n / 4 * 4;
  std::array<std::uint32_t, 4> last_cells{};
  std::array<double, 4> last_weights{};
  std::copy(fills.cells.begin() + n_fours, fills.cells.end(), last_cells.begin());
  std::copy(fills.weights + n_fours, fills.weights + n, last_weights.begin());
  const Cuts cuts = cuts_below(high_);
  auto* const sums = reinterpret_cast<Int64s*>(parts_.unshared().data());
  const bool prefetches = parts_.size() * sizeof(std::uint64_t) > most_near_bytes;
  const bool fours_fit = add_parts(fills.part(0, n_fours), prefetches ? n : 0, cuts, sums);
  return add_parts({last_cells, last_weights.data()}, 0, cuts, sums) && fours_fit;
}

bool SumsInParts::take(SumsInParts& other) {
  if (empty() || other.empty() || other.high_ != high_ || other.n_added() > n_left_) {
    return false;
  }
  const auto added = other.parts_.values();
  const auto sums = parts_.unshared();
  for (std::size_t k = 0; k < sums.size(); ++k) {
    sums[k] += added[k];
  }
  n_left_ -= other.n_added();
  other.clear();
  return true;
}

void SumsInParts::move_to(ExactSums& sums) {
  if (empty()) {
    return;
  }
  const std::array highs{high_, 2 * high_};
  std::array<int, 2> bases{};
  ExactSums::Ranges ranges{};
  const auto bits = join_parts(parts_.unshared());
  for (std::size_t s = 0; s < highs.size(); ++s) {
    bases[s] = highs[s] - all_bits;
    if (bits[s] != 0) {
      ranges[s] = {bases[s] + lowest_bit_of(bits[s]), highs[s]};
    }
  }
  sums.merge(ExactSums::of_pairs(std::move(parts_), bases, ranges, n_added()));
  clear();
}

}  // namespace forkrun
