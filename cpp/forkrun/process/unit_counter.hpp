#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <forkrun/process/shared_memory.hpp>

namespace forkrun {

/// Hands out 0, 1, … n - 1, each once, to processes that share it, without messages or locks, and
/// remembers the taker of each. Numbers taken by a process that dies are known, except between the
/// two writes of `take`: so a caller that needs every number looks for missing ones at the end.
class UnitCounter {
 public:
  explicit UnitCounter(std::size_t n);

  /// The next number for this child; none when all are taken.
  [[nodiscard]] std::optional<std::uint64_t> take(std::uint32_t child);
  /// Takes the numbers [first, first + n) for this child, or fewer up to the end; returns how many.
  /// 0 if `first` is not, or no longer, the next one.
  [[nodiscard]] std::uint64_t take(std::uint32_t child, std::uint64_t first, std::uint64_t n);
  /// Numbers that this child has taken, in order.
  [[nodiscard]] std::vector<std::uint64_t> taken_by(std::uint32_t child) const;
  /// How many have been taken.
  [[nodiscard]] std::uint64_t n_taken() const;
  /// Stops handing out numbers from `n` on.
  void end_at(std::uint64_t n);
  [[nodiscard]] std::uint64_t end() const { return state_[0].end; }

 private:
  struct alignas(64) State {
    std::atomic<std::uint64_t> next;
    std::atomic<std::uint64_t> end;
  };

  SharedArray<State> state_;
  SharedArray<std::atomic<std::uint32_t>> owners_;  ///< child + 1; 0: none yet
};

}  // namespace forkrun
