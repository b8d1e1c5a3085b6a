#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <forkrun/core/data/unit_of_work.hpp>

namespace forkrun {

/// The blocks of a unit, in order. Each has the entries of one range or of several, which may be
/// anywhere in the files.
class BlockList {
 public:
  void clear() {
    ranges_.clear();
    begins_.clear();
  }
  /// Begins a block with these entries.
  void begin(const EntryRange& range) {
    begins_.push_back(ranges_.size());
    ranges_.push_back(range);
  }
  /// Adds entries to the block that was begun last.
  void add(const EntryRange& range) { ranges_.push_back(range); }

  [[nodiscard]] std::size_t size() const { return begins_.size(); }
  [[nodiscard]] EntryRanges operator[](std::size_t block) const {
    const auto begin = begins_[block];
    const auto end = block + 1 < begins_.size() ? begins_[block + 1] : ranges_.size();
    return std::span{ranges_}.subspan(begin, end - begin);
  }
  void swap(BlockList& other) noexcept {
    ranges_.swap(other.ranges_);
    begins_.swap(other.begins_);
  }

 private:
  std::vector<EntryRange> ranges_;   ///< of one block after the other
  std::vector<std::size_t> begins_;  ///< by block, in `ranges_`
};

}  // namespace forkrun
