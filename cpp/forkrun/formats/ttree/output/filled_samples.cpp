#include <forkrun/formats/ttree/output/filled_samples.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include <TBasket.h>
#include <TBranch.h>
#include <TBranchElement.h>
#include <TBuffer.h>

namespace forkrun::root_io {

FilledSamples::FilledSamples(BranchPlace place, TBranch& branch)
    : place_{std::move(place)}, branch_{branch} {
  for (auto* filled : all_branches(branch).filled) {
    if (filled->IsA() == TBranch::Class() || filled->IsA() == TBranchElement::Class()) {
      filled_.push_back({filled, BranchSamples{filled->GetName()}});
    }
  }
}

bool FilledSamples::fill(std::int64_t number) {
  for (auto& filled : filled_) {
    filled.basket = filled.branch->GetWriteBasket();
    const auto* basket = filled.branch->GetBasket(filled.basket);
    filled.begin = basket == nullptr ? 0 : basket->GetBufferRef()->Length();
  }
  if (branch_.Fill() < 0) {
    return false;
  }
  for (auto& filled : filled_) {
    if (filled.branch->GetWriteBasket() != filled.basket) {
      continue;  // it is on file
    }
    const auto* basket = filled.branch->GetBasket(filled.basket);
    if (basket == nullptr) {
      continue;  // it has no entries: ROOT leaves the branch out
    }
    const auto* buffer = basket->GetBufferRef();
    const auto begin = filled.begin == 0 ? basket->GetKeylen() : filled.begin;
    const std::span bytes{buffer->Buffer(), static_cast<std::size_t>(buffer->Length())};
    filled.samples.note_passed(number,
                               std::as_bytes(bytes.subspan(static_cast<std::size_t>(begin))));
  }
  return true;
}

void FilledSamples::finish() {
  const auto written = all_branches(branch_).filled;
  std::erase_if(filled_, [&](auto& filled) {
    const auto at = std::ranges::find(written, filled.branch);
    filled.number = static_cast<std::size_t>(at - written.begin());
    return at == written.end();
  });
}

std::vector<SampledBranch> FilledSamples::sampled() const {
  std::vector<SampledBranch> branches;
  for (const auto& filled : filled_) {
    branches.push_back({{place_, filled.number}, &filled.samples});
  }
  return branches;
}

}  // namespace forkrun::root_io
