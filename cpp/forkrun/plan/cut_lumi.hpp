#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace forkrun {

/// How many events a unit should have, of a job of which so many are left.
class UnitSizes {
 public:
  struct Settings {
    double last{};          ///< events that may be left while the last units are processed
    double n_units_left{};  ///< units of the present size in what is left
    double slack{};         ///< largest size of a unit over the wanted one
    std::int64_t least{};   ///< events of a unit of a lumi that is cut
    std::int64_t limit{};   ///< events that no unit exceeds, 1 or more
  };
  explicit UnitSizes(const Settings& settings) : settings_{settings} {}

  [[nodiscard]] std::int64_t wanted(std::int64_t n_left) const;
  /// Of the next unit of a lumi that has `n_events` left: so many that no small rest remains.
  [[nodiscard]] std::int64_t share(std::int64_t n_events, std::int64_t n_left) const;
  /// Events that a unit may have, where it ends with a cluster or its lumi.
  [[nodiscard]] std::int64_t most(std::int64_t n_left) const;

 private:
  Settings settings_;
};

/// Entries [first, last) of a file. `clusters`: of that file, the first entry of each, in order,
/// then the number of entries.
struct RangeToCut {
  std::int64_t first{};
  std::int64_t last{};
  std::span<const std::int64_t> clusters;
};

/// A part of a range, by its number; `part`: number of the unit within the lumi.
struct Cut {
  std::int64_t range{};
  std::int64_t part{};
  std::int64_t first{};
  std::int64_t last{};
};

/// Cuts the ranges of a lumi in units: at clusters where they begin near enough. `n_left`: events
/// of the job from this lumi on. Appends to `cuts`.
void cut_lumi(std::span<const RangeToCut> ranges, std::int64_t n_left, const UnitSizes& sizes,
              std::vector<Cut>& cuts);

}  // namespace forkrun
