#pragma once

#include <cstdint>
#include <vector>

#include <forkrun/formats/ttree/layout/branch_layout.hpp>
#include <forkrun/formats/ttree/verify/samples.hpp>
#include <forkrun/formats/ttree/write/branch_samples.hpp>

class TBranch;

namespace forkrun::root_io {

/// Samples of a top-level branch that ROOT fills: the bytes of some entries as ROOT has put them
/// into its baskets, before it compresses and writes these.
class FilledSamples {
 public:
  FilledSamples(BranchPlace place, TBranch& branch);

  /// Whether the ends of what is filled next are sampled: for the first time, and one in
  /// `BranchSamples::period` times.
  [[nodiscard]] bool takes_part() { return turn_++ % BranchSamples::period == 0; }
  /// Fills entry `number` and notes it, but where it has filled a basket; false: ROOT refuses.
  [[nodiscard]] bool fill(std::int64_t number);
  /// Everything was filled: finds the places of the branches in the tree that is written.
  void finish();
  /// What the file has to hold.
  [[nodiscard]] std::vector<SampledBranch> sampled() const;

 private:
  struct Filled {
    TBranch* branch;
    BranchSamples samples;
    int basket{};
    int begin{};  ///< of the entry in the basket; 0: behind its header
    std::size_t number{};
  };

  BranchPlace place_;
  TBranch& branch_;
  std::vector<Filled> filled_;
  std::size_t turn_ = 0;
};

}  // namespace forkrun::root_io
