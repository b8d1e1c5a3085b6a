#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace forkrun {

/// Progress of a run from one commit or all of them.
struct CommitCounts {
  std::uint64_t n_units{};
  std::uint64_t n_events{};
  std::uint64_t n_left_out{};

  bool operator==(const CommitCounts&) const = default;
};

/// Adds up commits by the lines of ledgers, of which it reads few fields: a million lines in less
/// than a second. A unit with two lines counts once.
class CommitCounter {
 public:
  /// First unit of a commit, and its counts.
  struct Counted {
    std::uint64_t unit{};
    CommitCounts counts;
  };

  /// Content of one ledger. `n_events`: of the counted lines; `start_s`: of the first commit,
  /// `end_s`: of the last [s since the epoch], 0 if there is none; `others`: complete lines that
  /// were not counted: damaged, with left-out events, or of units to be kept apart.
  struct Ledger {
    std::uint64_t n_events{};
    double start_s{};
    double end_s{};
    std::vector<std::string> others;
  };

  /// Counts the complete lines of a ledger. `apart`: first units of commits that are not counted.
  /// \throws InputError if the file cannot be read.
  [[nodiscard]] Ledger read(const std::string& path, const std::set<std::uint64_t>& apart);
  /// Counts a commit that begins with this unit, replacing an earlier one.
  void put(std::uint64_t unit, const CommitCounts& counts);
  /// Sum over all units.
  [[nodiscard]] CommitCounts total() const;

 private:
  void read_lines(std::string_view lines, const std::set<std::uint64_t>& apart, Ledger& ledger);

  std::vector<Counted> counted_;
  std::vector<char> buffer_ = std::vector<char>(std::size_t{1} << 16U);
};

}  // namespace forkrun
