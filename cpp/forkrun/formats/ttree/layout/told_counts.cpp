#include <forkrun/formats/ttree/layout/told_counts.hpp>

#include <algorithm>
#include <iterator>

#include <TBranchElement.h>
#include <TLeaf.h>
#include <TObjArray.h>
#include <TVirtualStreamerInfo.h>

#include <forkrun/formats/ttree/layout/branch_layout.hpp>

namespace forkrun::root_io {

std::vector<TLeaf*> leaves_of(TBranch& branch) {
  std::vector<TLeaf*> leaves;
  for (TObject* leaf : *branch.GetListOfLeaves()) {
    leaves.push_back(static_cast<TLeaf*>(leaf));
  }
  return leaves;
}

bool counts_objects(const TBranch& branch) {
  constexpr int clones = 3, collection = 4;
  const auto* element = dynamic_cast<const TBranchElement*>(&branch);
  return element != nullptr && (element->GetType() == clones || element->GetType() == collection ||
                                element->GetStreamerType() == TVirtualStreamerInfo::kCounter);
}

std::vector<std::int64_t> largest_told_counts(TBranch& branch) {
  if (counts_objects(branch)) {
    return {largest_count(branch)};
  }
  std::vector<std::int64_t> largest;
  std::ranges::transform(leaves_of(branch), std::back_inserter(largest), [](const TLeaf* leaf) {
    return leaf->IsRange() ? leaf->GetMaximum() : 0;
  });
  return largest;
}

}  // namespace forkrun::root_io
