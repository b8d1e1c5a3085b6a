#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace forkrun {

/// Selected entries of a file, and the rank of each: the number of selected entries before it.
class EntryRanks {
 public:
  /// None of `n_entries` entries.
  explicit EntryRanks(std::int64_t n_entries)
      : n_entries_{n_entries},
        bits_(static_cast<std::size_t>(n_entries) / n_in_word + 1),
        n_before_(bits_.size()) {}

  /// Adds entries, in any order, repeatedly if need be. \throws Error beyond the file's end.
  void add(std::int64_t first, std::int64_t last);
  /// Computes the ranks, once all entries were added.
  void count();

  [[nodiscard]] std::int64_t rank(std::int64_t entry) const {
    const auto word = static_cast<std::size_t>(entry) / n_in_word;
    const auto below = (std::uint64_t{1} << (static_cast<std::size_t>(entry) % n_in_word)) - 1;
    return n_before_[word] + std::popcount(bits_[word] & below);
  }
  /// First of these entries from `entry` on, or first of the others; at most `last`.
  [[nodiscard]] std::int64_t next(std::int64_t entry, std::int64_t last) const {
    return find(entry, last, 0);
  }
  [[nodiscard]] std::int64_t next_other(std::int64_t entry, std::int64_t last) const {
    return find(entry, last, ~std::uint64_t{0});
  }

 private:
  static constexpr std::size_t n_in_word = 64;
  [[nodiscard]] std::int64_t find(std::int64_t entry, std::int64_t last,
                                  std::uint64_t flipped) const;

  std::int64_t n_entries_;
  std::vector<std::uint64_t> bits_;
  std::vector<std::int64_t> n_before_;  ///< of each word
};

}  // namespace forkrun
