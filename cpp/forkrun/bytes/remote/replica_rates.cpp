#include <forkrun/bytes/remote/replica_rates.hpp>

#include <utility>

namespace forkrun {

namespace {

/// Bytes for a valid rate: some windows of a usual link, and more than opening a file takes.
constexpr double enough_s = 3;
constexpr double faster_by_far = 1.3;

}  // namespace

std::size_t ReplicaRates::best(std::size_t used) {
  if (rates_.size() < 2 || waited_s_ < enough_s) {
    return used;
  }
  rates_[used] = std::exchange(n_bytes_, 0) / std::exchange(waited_s_, 0);
  auto best = used;
  for (std::size_t i = 1; i < rates_.size(); ++i) {
    const auto other = (used + i) % rates_.size();
    if (!rates_[other]) {
      return other;
    }
    const auto least = best == used ? faster_by_far * *rates_[used] : *rates_[best];
    best = *rates_[other] > least ? other : best;
  }
  return best;
}

}  // namespace forkrun
