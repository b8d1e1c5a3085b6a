#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <forkrun/formats/ttree/layout/basket.hpp>
#include <forkrun/formats/ttree/layout/count_places.hpp>

namespace forkrun::root_io {

/// A branch that is written: it is told which baskets are on file.
class BranchTarget {
 public:
  BranchTarget() = default;
  virtual ~BranchTarget() = default;
  BranchTarget(const BranchTarget&) = delete;
  BranchTarget& operator=(const BranchTarget&) = delete;

  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::string tree_name() const = 0;
  /// Whether entries differ in size.
  [[nodiscard]] virtual bool has_offsets() const = 0;
  /// Which of its values are numbers of others: known once those that it counts are made.
  [[nodiscard]] virtual std::vector<CountPlace> counts() const = 0;

  /// Enters the next basket, which is on file at `place`.
  virtual void enter(const BasketHeader& header, std::int64_t place, std::int64_t first_entry) = 0;
  /// The branch is complete. `largest_counts`: of its leaves, as far as they count.
  virtual void finish(std::int64_t n_entries, std::span<const std::int64_t> largest_counts) = 0;
};

}  // namespace forkrun::root_io
