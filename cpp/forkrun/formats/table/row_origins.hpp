#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace forkrun::root_io {

/// A file from which rows and objects were carried, at any path.
struct Origin {
  std::uint64_t uuid_high{};
  std::uint64_t uuid_low{};
  std::int64_t n_bytes{};
  auto operator<=>(const Origin&) const = default;

  /// `uuid`: in ROOT's form, with dashes. \throws InputError
  [[nodiscard]] static Origin of(const std::string& uuid, std::int64_t n_bytes);
};

/// Consecutive rows of a tree that came from one file.
struct OriginRows {
  Origin origin;
  std::int64_t n_rows{};
};

/// Rows [first, last) of a tree.
struct RowRange {
  std::int64_t first{};
  std::int64_t last{};
};

/// Rows to take from a file.
struct TakenRows {
  std::vector<OriginRows> origins;  ///< in the output's order
  std::vector<RowRange> rows;       ///< the same rows, in their file
  std::string other_file;  ///< file that had the first of the rows left out; "" if all are taken

  [[nodiscard]] bool is_all() const { return other_file.empty(); }
};

/// Decides which rows of a carried tree a merge takes: rows of one file once, however many outputs
/// they were carried to. Files that were not carried are taken as often as they are named.
class RowOrigins {
 public:
  /// Rows of the next file, in order.
  [[nodiscard]] TakenRows take_carried(const std::string& file,
                                       const std::vector<OriginRows>& rows);
  /// The same for a file that is itself the origin of its rows.
  [[nodiscard]] TakenRows take_own(const std::string& file, const OriginRows& rows);

 private:
  std::map<Origin, std::string> carried_;  ///< with the file that had them first
  std::map<Origin, std::string> own_;
};

}  // namespace forkrun::root_io
