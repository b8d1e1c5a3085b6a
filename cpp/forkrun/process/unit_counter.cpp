#include <forkrun/process/unit_counter.hpp>

#include <algorithm>

namespace forkrun {

static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
                  std::atomic<std::uint32_t>::is_always_lock_free,
              "processes share these: a lock would be private to each");

UnitCounter::UnitCounter(std::size_t n)
    : state_{1, "the units of work"}, owners_{n, "who does which unit of work"} {
  state_[0].end = n;
}

std::optional<std::uint64_t> UnitCounter::take(std::uint32_t child) {
  auto& state = state_[0];
  auto number = state.next.load();
  do {
    if (number >= state.end) {
      return std::nullopt;
    }
  } while (!state.next.compare_exchange_weak(number, number + 1));
  owners_[number] = child + 1;
  return number;
}

std::vector<std::uint64_t> UnitCounter::taken_by(std::uint32_t child) const {
  std::vector<std::uint64_t> taken;
  const auto n = n_taken();
  for (std::uint64_t number = 0; number < n; ++number) {
    if (owners_[number] == child + 1) {
      taken.push_back(number);
    }
  }
  return taken;
}

std::uint64_t UnitCounter::n_taken() const { return state_[0].next; }

void UnitCounter::end_at(std::uint64_t n) {
  state_[0].end = std::min<std::uint64_t>(n, owners_.size());
}

}  // namespace forkrun
