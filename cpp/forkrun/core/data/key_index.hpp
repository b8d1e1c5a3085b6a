#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace forkrun {

/// Columns of integers that together identify an event, such as run and number; all of one length.
using KeyColumns = std::span<const std::span<const std::uint64_t>>;

/// Partners of entries in an index, as ranges of consecutive entries.
struct KeyPartners {
  static constexpr std::int64_t none = -1;
  static constexpr std::int64_t several = -2;  ///< without choosing one

  std::vector<std::int64_t> first{};  ///< place of the range's first entry
  /// Its partner; further entries have the following partners. Or none, or several.
  std::vector<std::int64_t> partner{};
  std::vector<std::uint8_t> repeats{};  ///< whether all entries of the range have this same partner

  void add(std::int64_t place, std::int64_t its_partner);
};

/// Finds entries by their keys.
class KeyIndex {
 public:
  /// Choice among several entries with the same keys.
  enum class Rule : std::uint8_t { none, first };

  explicit KeyIndex(std::size_t n_keys) : n_keys_{n_keys} {}

  /// Appends entries. \throws Error for more than 2^32 - 2
  void add(KeyColumns keys);
  [[nodiscard]] std::size_t size() const { return n_entries_; }
  /// Fastest for entries in the order of the index.
  [[nodiscard]] KeyPartners partners(KeyColumns keys, Rule rule) const;

 private:
  using Row = std::span<const std::uint64_t>;

  [[nodiscard]] Row row(std::size_t entry) const {
    return Row{keys_}.subspan(entry * n_keys_, n_keys_);
  }
  [[nodiscard]] bool is(std::int64_t entry, Row keys) const;
  [[nodiscard]] bool is_repeated(std::int64_t entry) const;
  [[nodiscard]] std::size_t slot_of(Row keys) const;
  void fetch(Row rows) const;
  void insert(std::size_t entry);
  [[nodiscard]] std::int64_t find(Row keys) const;

  std::size_t n_keys_;
  std::size_t n_entries_ = 0;
  std::vector<std::uint64_t> keys_;   ///< keys of an entry are adjacent
  std::vector<std::uint32_t> slots_;  ///< by hash: one more than the number of the entry, 0: free
  std::vector<bool> repeated_;  ///< entries whose keys others have, too; empty if there are none
};

}  // namespace forkrun
