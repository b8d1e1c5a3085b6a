#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <forkrun/formats/ttree/layout/branch_layout.hpp>
#include <forkrun/formats/ttree/write/branch_samples.hpp>
#include <forkrun/formats/ttree/write/branch_writer.hpp>

class TTree;

namespace forkrun::root_io {

/// A branch with baskets: its top-level branch, and its number among those with baskets within it.
struct FilledPlace {
  BranchPlace top;
  std::size_t number{};
};
/// In the order of `all_branches`.
[[nodiscard]] std::vector<FilledPlace> filled_places(TTree& tree);

/// Samples that a branch of a written tree has to hold.
struct SampledBranch {
  FilledPlace place;
  const BranchSamples* samples;
};

/// `writers`: of the branches at these places, and maybe of more.
[[nodiscard]] std::vector<SampledBranch> sampled(std::span<const FilledPlace> places,
                                                 std::span<const BranchWriter> writers);

/// Compares a complete file with samples of what it was made of: it is opened again, and branches
/// are found in it by their places. Of all baskets the ends are compared as they are on file, and
/// some are unzipped for their entries. `tree`: in the file. \throws VerificationFailed naming
/// file, branch and entry.
void check_samples(const std::string& path, const std::string& tree,
                   std::span<const SampledBranch> branches, std::size_t n_threads);

}  // namespace forkrun::root_io
