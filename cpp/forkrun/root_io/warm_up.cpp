#include <forkrun/root_io/warm_up.hpp>

#include <vector>

#include <TMemFile.h>
#include <TROOT.h>
#include <TTree.h>

namespace forkrun::root_io {

void warm_up() {
  ROOT::EnableThreadSafety();
  TMemFile file{"warm_up.root", "RECREATE"};
  float scalar = 1;
  std::vector<float> values{1, 2, 3};
  TTree tree{"tree", ""};
  tree.Branch("scalar", &scalar);
  tree.Branch("values", &values);
  tree.Fill();
  tree.Write();
  tree.GetEntry(0);
  const auto copy = std::unique_ptr<TTree>{tree.CloneTree(0)};
  copy->SetDirectory(nullptr);
  tree.SetDirectory(nullptr);
}

std::string root_version() { return gROOT->GetVersion(); }

}  // namespace forkrun::root_io
