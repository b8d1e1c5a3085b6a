// Many events from a few real ones: all branches again and again, floats jittered by up to 2.5 %
// and cut to 10 bits so that they compress as real data do, ids numbered anew.
//     replicate IN OUT REPETITIONS EVENTS_PER_LUMI [FILES]
// With FILES: into so many of as many events each, which are called OUT-0.root and so on.

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

struct Ids {
  UInt_t run = 1;
  UInt_t lumi = 0;
  ULong64_t event = 0;
};

void set_ids(TTree& tree, Ids& ids) {
  tree.SetBranchAddress("run", &ids.run);
  tree.SetBranchAddress("luminosityBlock", &ids.lumi);
  tree.SetBranchAddress("event", &ids.event);
}

class Replica {
 public:
  Replica(TTree& events, long per_lumi)
      : events_{events}, per_lumi_{per_lumi}, floats_{float_leaves(events)} {
    set_ids(events_, ids_);
  }
  void write(const std::string& path, long first, long last) {
    TFile output{path.c_str(), "RECREATE", "", 505};
    auto& copy = *events_.CloneTree(0);
    set_ids(copy, ids_);
    for (long i = first; i < last; ++i) {
      events_.GetEntry(i % events_.GetEntries());
      for (auto* leaf : floats_) {
        jitter(*leaf, random_);
      }
      ids_ = {1, static_cast<UInt_t>(1 + i / per_lumi_), static_cast<ULong64_t>(1 + i)};
      copy.Fill();
    }
    copy.Write("", TObject::kOverwrite);
    output.Close();
  }

 private:
  TTree& events_;
  long per_lumi_;
  std::vector<TLeaf*> floats_;
  Ids ids_;
  TRandom3 random_{1};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5 && argc != 6) {
    std::fprintf(stderr, "usage: replicate IN OUT REPETITIONS EVENTS_PER_LUMI [FILES]\n");
    return 2;
  }
  TFile input{argv[1]};
  auto& events = *input.Get<TTree>("Events");
  const std::string out{argv[2]};
  const long n_events = std::atol(argv[3]) * events.GetEntries();
  Replica replica{events, std::atol(argv[4])};
  if (argc == 5) {
    replica.write(out, 0, n_events);
    return 0;
  }
  const long n_files = std::atol(argv[5]);
  for (long file = 0; file < n_files; ++file) {
    replica.write(out + "-" + std::to_string(file) + ".root", n_events * file / n_files,
                  n_events * (file + 1) / n_files);
  }
  return 0;
}
