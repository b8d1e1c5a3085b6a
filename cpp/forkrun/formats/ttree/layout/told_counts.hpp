#pragma once

#include <cstdint>
#include <vector>

class TBranch;
class TLeaf;

namespace forkrun::root_io {

[[nodiscard]] std::vector<TLeaf*> leaves_of(TBranch& branch);

/// Whether the entries of a branch are numbers of objects.
[[nodiscard]] bool counts_objects(const TBranch& branch);

/// By leaf: the largest number of values or objects that the branch tells; 0: it counts none.
[[nodiscard]] std::vector<std::int64_t> largest_told_counts(TBranch& branch);

}  // namespace forkrun::root_io
