#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include <forkrun/histograms/table_memory.hpp>

namespace forkrun {

/// Sums of doubles without rounding: `n_sums` for each of `n_cells`. A sum is an integer in two's
/// complement times a power of two, wide enough for all values added to any cell; it is rounded
/// once, when it is read. So it depends on the values only, not on order or grouping.
///
/// The sums of a cell are adjacent, each in `n_words` words of 64 bits, the lowest first. Each sum
/// has a window of bits, represented by its words. It moves and widens, for all cells, when a value
/// does not fit or after so many additions that carries could leave it. Memory is taken at the
/// first addition; copies share it until one of them changes. Non-finite values are kept apart, and
/// so are mere counts.
class ExactSums {
 public:
  static constexpr std::size_t most_sums = 8;
  /// Range of bits of values: all are multiples of 2^low, with magnitudes below 2^high.
  struct Range {
    int low{};
    int high{};
    [[nodiscard]] bool empty() const { return low >= high; }
    [[nodiscard]] Range joined(Range other) const;
    [[nodiscard]] bool contains(Range other) const {
      return other.empty() || (low <= other.low && other.high <= high && !empty());
    }
  };
  using Ranges = std::array<Range, most_sums>;

  ExactSums(std::size_t n_sums, std::size_t n_cells);

  [[nodiscard]] std::size_t n_sums() const { return n_sums_; }
  [[nodiscard]] std::size_t n_cells() const { return n_cells_; }
  [[nodiscard]] std::size_t n_words() const { return n_words_; }
  /// Number of non-finite values.
  [[nodiscard]] std::uint64_t n_not_finite() const { return n_not_finite_; }
  /// Whether nothing was added.
  [[nodiscard]] bool empty() const { return n_adds_ == 0 && n_not_finite_ == 0 && n_counted_ == 0; }

  /// `values`: one per sum. \pre cell < n_cells
  void add(std::size_t cell, std::span<const double> values);
  /// `columns`: one per sum, each with a value per element of `cells`. \pre all cells < n_cells
  void add(std::span<const std::uint32_t> cells, std::span<const double* const> columns);
  /// A counter for each cell, to which the caller may add 1 up to `n_more` times: each adds 1 to
  /// all sums of the cell. Valid until the next call. \pre n_more <= most_counted
  [[nodiscard]] std::span<std::uint32_t> counts(std::uint64_t n_more);
  static constexpr std::uint64_t most_counted = std::uint64_t{1} << 31;

  // For threads that add at the same time: one makes room while no other adds, then each adds to
  // its own cells.
  /// Ranges of columns of `n` values; nothing if some are not finite.
  [[nodiscard]] static std::optional<Ranges> ranges_of(std::span<const double* const> columns,
                                                       std::size_t n);
  /// Whether there is room for values in these ranges, regardless of their number.
  [[nodiscard]] bool has_room(const Ranges& ranges) const;
  /// Makes room: afterwards `n_adds` values in the ranges can be added without a check.
  void make_room(const Ranges& ranges, std::uint64_t n_adds);
  /// `n_next`: number of cells after `cells` in memory, to be filled next. \pre there is room
  void add_in_room(std::span<const std::uint32_t> cells, std::span<const double* const> columns,
                   std::size_t n_next = 0);

  /// Also takes sums of up to 4096 values for which there is room.
  void add_sums_in_room(std::span<const std::uint32_t> cells,
                        std::span<const double* const> columns);

  /// Adds numbers of two words; those of a cell are adjacent. `bases`: exponents of the lowest
  /// bits; `ranges`: of the `n_adds` values summed in them.
  [[nodiscard]] static ExactSums of_pairs(TableMemory<std::uint64_t> words,
                                          std::span<const int> bases, const Ranges& ranges,
                                          std::uint64_t n_adds);

  /// Adds the sums of other cells, to the cells from `first` on. \pre as many sums; other.n_cells()
  /// + first <= n_cells()
  void merge(const ExactSums& other, std::size_t first = 0);
  void clear();
  void clear_cell(std::size_t cell);
  /// Moves the cells to others of a new table. `places`: (n_cells,), each < n_cells of the new
  /// table; cells with the same place are added, if the new table is smaller.
  void move_cells(std::span<const std::uint32_t> places, std::size_t n_cells);

  /// (n_sums, n_cells), to nearest, ties to even, like Python's math.fsum; infinite on overflow.
  /// Sums with an infinite value are infinite; with infinities of both signs, or NaN: NaN.
  [[nodiscard]] std::vector<double> rounded() const;

  /// For a file: the cells with content, in as few words of 64 bits as they need.
  [[nodiscard]] std::vector<std::uint64_t> packed() const;
  /// Inverse of `packed`. \throws Error for other words
  [[nodiscard]] static ExactSums unpacked(std::span<const std::uint64_t> packed, std::size_t n_sums,
                                          std::size_t n_cells);

 private:
  struct Window {
    int base{};    ///< exponent of the lowest bit of the lowest word
    Range seen{};  ///< range of all values added
  };
  using Words = TableMemory<std::uint64_t>;
  enum NotFinite : std::uint8_t { plus_infinite = 1, minus_infinite = 2, not_a_number = 4 };

  [[nodiscard]] std::size_t stride() const { return n_sums_ * n_words_; }
  [[nodiscard]] std::size_t n_stored() const { return is_dense_ ? n_cells_ : cells_.size(); }
  [[nodiscard]] std::size_t cell_at(std::size_t place) const {
    return is_dense_ ? place : cells_[place];
  }
  [[nodiscard]] std::span<const std::uint64_t> number(std::size_t place, std::size_t sum) const {
    return words_.values().subspan(place * stride() + sum * n_words_, n_words_);
  }
  [[nodiscard]] std::vector<std::size_t> places_with_content() const;
  static std::uint8_t kind_of(double not_finite);
  static double value_of(std::uint8_t kinds);
  /// Range of finite values; \returns false if some are not finite
  static bool find_range(std::span<const double> values, Range& range);
  [[nodiscard]] bool fits(const Ranges& ranges, int n_spare_bits) const;
  void widen(const Ranges& ranges, int n_spare_bits);
  void make_dense();
  /// For 2 words in a dense table. \returns false, without adding, if a value does not fit
  [[nodiscard]] bool add_if_fits(std::size_t cell, std::span<const double> values);
  [[nodiscard]] bool can_split_all() const;
  [[nodiscard]] std::size_t add_pairs(std::span<const std::uint32_t> cells,
                                      std::span<const double* const> columns, std::size_t n_next);
  /// Whether to prefetch words, as they are in no near cache.
  [[nodiscard]] bool prefetches() const {
    return words_.size() * sizeof(std::uint64_t) > 256 * 1024;
  }
  void add_each(std::span<const std::uint32_t> cells, std::span<const double* const> columns);
  template <std::size_t N_SUMS, std::size_t N_WORDS>
  void add_split(std::span<const std::uint32_t> cells, const double* const* columns);
  void add_wide(std::span<const std::uint32_t> cells, const double* const* columns);
  void merge_counts(const ExactSums& other, std::size_t first);
  void add_counts();
  void make_words_of_counts();
  [[nodiscard]] ExactSums with_counts_added() const;
  void merge_cells(const ExactSums& other, std::size_t first);
  void merge_pairs(const ExactSums& other, std::size_t first);
  void merge_not_finite(const ExactSums& other, std::size_t first);
  [[nodiscard]] double rounded(std::size_t place, std::size_t sum) const;
  /// Bits used by the content of a sum.
  [[nodiscard]] Range content(std::size_t sum) const;
  void pack_numbers(std::span<const std::size_t> places, std::span<const int> bases,
                    std::span<std::uint64_t> result) const;

  std::size_t n_sums_;
  std::size_t n_cells_;
  std::size_t n_words_{2};
  bool is_dense_{false};
  std::vector<std::uint32_t> cells_{};  ///< unless dense: the cells that have words, ascending
  Words words_{};
  std::vector<Window> windows_;
  std::uint64_t n_adds_{};
  std::uint64_t n_not_finite_{};
  TableMemory<std::uint32_t> counts_{};
  std::uint64_t n_counted_{};  ///< at least as many as any of the counts
  /// Kinds of non-finite values in a sum, by cell * n_sums + sum.
  std::map<std::uint64_t, std::uint8_t> not_finite_{};
};

}  // namespace forkrun
