#include <forkrun/process/unit_counter.hpp>

#include <algorithm>

namespace forkrun {

static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
                  std::atomic<std::uint32_t>::is_always_lock_free,
              "processes share these: a lock would be private to each");

UnitCounter::UnitCounter(std::size_t n)
    : state_{1, "the units of work"}, owners_{n, "the owners of the units of work"} {
  state_[0].end = n;
}

std::optional<std::uint64_t> UnitCounter::take(std::uint32_t child) {
  while (true) {
    const auto number = n_taken();
    if (number >= end()) {
      return std::nullopt;
    }
    if (take(child, number, 1) == 1) {
      return number;
    }
  }
}

std::uint64_t UnitCounter::take(std::uint32_t child, std::uint64_t first, std::uint64_t n) {
  auto& state = state_[0];
  const std::uint64_t end = state.end;
  const auto last = first + std::min(n, end - std::min(first, end));
  if (first >= last || !state.next.compare_exchange_strong(first, last)) {
    return 0;
  }
  for (auto number = first; number < last; ++number) {
    owners_[number] = child + 1;
  }
  return last - first;
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
