#include <forkrun/formats/ttree/layout/leaf_range.hpp>

#include <algorithm>

#include <TLeafB.h>
#include <TLeafG.h>
#include <TLeafI.h>
#include <TLeafL.h>
#include <TLeafO.h>
#include <TLeafS.h>

namespace forkrun::root_io {

namespace {

template <typename Leaf, typename Value>
bool include_in(TLeaf& leaf, const LeafRange& range) {
  auto* typed = dynamic_cast<Leaf*>(&leaf);
  if (typed == nullptr) {
    return false;
  }
  const auto largest = std::min(range.largest, largest_number(sizeof(Value)));
  if (largest > typed->GetMaximum()) {
    typed->SetMaximum(static_cast<Value>(largest));
  }
  if (range.least < typed->GetMinimum()) {
    typed->SetMinimum(static_cast<Value>(range.least));
  }
  return true;
}

}  // namespace

std::int64_t largest_number(std::size_t n_bytes) {
  return static_cast<std::int64_t>((std::uint64_t{1} << (8 * n_bytes - 1)) - 1);
}

void include_range(TLeaf& leaf, const LeafRange& range) {
  static_cast<void>(
      include_in<TLeafI, Int_t>(leaf, range) || include_in<TLeafS, Short_t>(leaf, range) ||
      include_in<TLeafB, Char_t>(leaf, range) || include_in<TLeafL, Long64_t>(leaf, range) ||
      include_in<TLeafG, Long_t>(leaf, range) || include_in<TLeafO, Bool_t>(leaf, range));
}

}  // namespace forkrun::root_io
