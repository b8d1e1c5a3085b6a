#include <forkrun/root_io/start_root.hpp>

#include <signal.h>

#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include <RVersion.h>
#include <TMemFile.h>
#include <TROOT.h>
#include <TTree.h>

namespace forkrun::root_io {

namespace {

/// The handlers of all signals, which are in place again when it ends.
class KeptHandlers {
 public:
  KeptHandlers() {
    for (int number = 1; number < n_signals; ++number) {
      is_kept_.at(number) = ::sigaction(number, nullptr, &actions_.at(number)) == 0;
    }
  }
  ~KeptHandlers() {
    for (int number = 1; number < n_signals; ++number) {
      if (is_kept_.at(number)) {
        ::sigaction(number, &actions_.at(number), nullptr);
      }
    }
  }
  KeptHandlers(const KeptHandlers&) = delete;
  KeptHandlers& operator=(const KeptHandlers&) = delete;

 private:
  static constexpr int n_signals = 32;  // those that ROOT knows
  std::array<struct sigaction, n_signals> actions_{};
  std::array<bool, n_signals> is_kept_{};
};

}  // namespace

void start_root() {
  static std::once_flag is_started;
  std::call_once(is_started, [] {
    const KeptHandlers handlers;
    ROOT::EnableThreadSafety();
    static_cast<void>(gROOT->GetVersion());
  });
}

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
