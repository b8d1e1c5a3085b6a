#include <forkrun/formats/root_file/start_root.hpp>

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

#include <RVersion.h>
#include <TEnv.h>
#include <TMemFile.h>
#include <TROOT.h>
#include <TSystem.h>
#include <TTree.h>

namespace forkrun::root_io {

namespace {

/// ROOT crashes for a user without a home, as in a container that runs with any user number.
void have_home() {
  if (std::getenv("HOME") == nullptr && ::getpwuid(::getuid()) == nullptr) {
    ::setenv("HOME", "/", 0);
  }
}

}  // namespace

void start_root() {
  static std::once_flag is_started;
  std::call_once(is_started, [] {
    have_home();
    ROOT::EnableThreadSafety();
    static_cast<void>(gROOT->GetVersion());
    gEnv->SetValue("Root.Stacktrace", 0);  // where ROOT aborts, it would wait for a debugger
  });
}

void restore_signal_handlers() { gSystem->ResetSignals(); }

void warm_up() {
  start_root();
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

std::string root_version() { return ROOT_RELEASE; }

}  // namespace forkrun::root_io
