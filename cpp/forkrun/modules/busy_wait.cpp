// Modules that only take time, as a job with slower events would.

#include <chrono>
#include <cmath>
#include <thread>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/module.hpp>
#include <forkrun/replay/busy_wait.hpp>

namespace {

void sleep(double time_s) { std::this_thread::sleep_for(std::chrono::duration<double>{time_s}); }

/// Accepts every event after `ms` milliseconds. With `spread`, each event has its own time, drawn
/// from a log-normal distribution of mean `ms` and standard deviation `spread * ms`.
template <void (*spend)(double time_s)>
class Wait final : public forkrun::Filter {
 public:
  explicit Wait(forkrun::Construction& construction)
      : ms_{construction.parameters().get<double>("ms")},
        spread_{construction.parameters().get<double>("spread", 0.0)},
        random_{construction.random()} {
    if (!(ms_ >= 0 && spread_ >= 0)) {
      throw forkrun::Error{"\"ms\", a time, and \"spread\", a part of it, must be at least 0"};
    }
  }

  void filter(const forkrun::EventBlock& block, std::span<std::uint8_t> /*accept*/) override {
    spend(1e-3 * ms_ * factor(block));
  }

 private:
  /// Sum of the events' times, each in units of the mean.
  [[nodiscard]] double factor(const forkrun::EventBlock& block) const {
    if (spread_ == 0) {
      return static_cast<double>(block.n_events());
    }
    const double variance = std::log1p(spread_ * spread_);
    double sum = 0;
    for (std::size_t event = 0; event < block.n_events(); ++event) {
      sum += std::exp(block.random(random_, event).normal(-variance / 2, std::sqrt(variance)));
    }
    return sum;
  }

  double ms_;
  double spread_;
  forkrun::RandomKey random_;
};

using BusyWait = Wait<forkrun::replay::wait_busily>;
using Sleep = Wait<sleep>;

FORKRUN_REGISTER_MODULE(BusyWait);
FORKRUN_REGISTER_MODULE(Sleep);

}  // namespace
