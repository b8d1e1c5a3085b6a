// A module that only computes: how a job would scale if its events took longer.

#include <forkrun/core/data/errors.hpp>
#include <forkrun/module.hpp>
#include <forkrun/replay/busy_wait.hpp>

namespace {

/// Accepts every event after `ms` milliseconds of CPU time for each.
class BusyWait final : public forkrun::Filter {
 public:
  explicit BusyWait(forkrun::Construction& construction)
      : ms_{construction.parameters().get<double>("ms")} {
    if (!(ms_ >= 0)) {
      throw forkrun::Error{"\"ms\" is a time: 0 at least"};
    }
  }

  void filter(const forkrun::EventBlock& block, std::span<std::uint8_t> /*accept*/) override {
    forkrun::replay::wait_busily(1e-3 * ms_ * static_cast<double>(block.n_events()));
  }

 private:
  double ms_;
};

FORKRUN_REGISTER_MODULE(BusyWait);

}  // namespace
