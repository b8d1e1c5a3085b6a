#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace forkrun {

/// Number of events of a unit, from the number left in the job.
class UnitSizes {
 public:
  struct Settings {
    double last{};          ///< events that may be left while the last units are processed
    double n_units_left{};  ///< units of the present size that are left
    double slack{};         ///< largest size of a unit over the wanted one
    std::int64_t least{};   ///< least events of a unit of a lumi that is cut
    std::int64_t limit{};   ///< largest number of events of a unit, 1 or more
  };
  explicit UnitSizes(const Settings& settings) : settings_{settings} {}

  [[nodiscard]] std::int64_t wanted(std::int64_t n_left) const;
  /// Size of the next unit of a lumi with `n_events` left, such that no small rest remains.
  [[nodiscard]] std::int64_t share(std::int64_t n_events, std::int64_t n_left) const;
  /// Events allowed in a unit that ends with a cluster or its lumi.
  [[nodiscard]] std::int64_t most(std::int64_t n_left) const;

 private:
  Settings settings_;
};

/// Entries [first, last) of a file. `clusters`: first entry of each cluster of that file, in order,
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

/// Cuts the ranges of a lumi into units, where clusters begin if near enough. `n_left`: events of
/// the job from this lumi on. Appends to `cuts`.
void cut_lumi(std::span<const RangeToCut> ranges, std::int64_t n_left, const UnitSizes& sizes,
              std::vector<Cut>& cuts);

}  // namespace forkrun
