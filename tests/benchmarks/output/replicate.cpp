// Many events from a few real ones: all branches again and again, floats jittered by up to 2.5 % and
// cut to 10 bits so that they compress as real data do, ids numbered anew.
//     replicate IN OUT REPETITIONS EVENTS_PER_LUMI

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <TFile.h>
#include <TLeaf.h>
#include <TRandom3.h>
#include <TTree.h>

namespace {

std::vector<TLeaf*> float_leaves(TTree& tree) {
  std::vector<TLeaf*> leaves;
  for (TObject* leaf : *tree.GetListOfLeaves()) {
    if (std::string{static_cast<TLeaf*>(leaf)->GetTypeName()} == "Float_t") {
      leaves.push_back(static_cast<TLeaf*>(leaf));
    }
  }
  return leaves;
}

void jitter(TLeaf& leaf, TRandom& random) {
  auto* values = static_cast<float*>(leaf.GetValuePointer());
  for (int i = 0; i < leaf.GetLen(); ++i) {
    const auto moved = static_cast<float>(values[i] * random.Uniform(0.975, 1.025));
    std::uint32_t bits = 0;
    std::memcpy(&bits, &moved, sizeof(bits));
    bits &= 0xffffe000U;
    std::memcpy(values + i, &bits, sizeof(bits));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: replicate IN OUT REPETITIONS EVENTS_PER_LUMI\n");
    return 2;
  }
  const long repetitions = std::atol(argv[3]), per_lumi = std::atol(argv[4]);
  TFile input{argv[1]};
  auto& events = *input.Get<TTree>("Events");
  TFile output{argv[2], "RECREATE", "", 505};
  auto& copy = *events.CloneTree(0);
  UInt_t run = 0, lumi = 0;
  ULong64_t event = 0;
  for (auto* tree : {&events, &copy}) {
    tree->SetBranchAddress("run", &run);
    tree->SetBranchAddress("luminosityBlock", &lumi);
    tree->SetBranchAddress("event", &event);
  }
  const auto floats = float_leaves(events);
  TRandom3 random{1};
  const long n_events = events.GetEntries();
  for (long i = 0; i < repetitions * n_events; ++i) {
    events.GetEntry(i % n_events);
    for (auto* leaf : floats) {
      jitter(*leaf, random);
    }
    run = 1;
    lumi = static_cast<UInt_t>(1 + i / per_lumi);
    event = static_cast<ULong64_t>(1 + i);
    copy.Fill();
  }
  copy.Write("", TObject::kOverwrite);
  output.Close();
  return 0;
}
