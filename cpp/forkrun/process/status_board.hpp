#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <forkrun/concurrency/cache_lines.hpp>
#include <forkrun/process/shared_memory.hpp>

namespace forkrun {

/// Activity of one child, in memory shared with the parent. The child writes, the parent reads;
/// each field is atomic by itself, together they are a snapshot good enough for display.
struct alignas(cache_line_pair) StatusSlot {
  std::atomic<std::uint64_t> n_events_done{};
  std::atomic<std::uint64_t> n_units_done{};
  std::atomic<std::uint64_t> unit{};  ///< number of the unit in flight
  std::atomic<std::uint32_t> run{};
  std::atomic<std::uint32_t> lumi{};
  std::atomic<std::uint64_t>
      first_event{};  ///< event number of the first event of the last block begun
  std::atomic<std::uint64_t> last_event{};  ///< and of its last event
  std::atomic<std::int64_t>
      heartbeat_ns{};  ///< CLOCK_MONOTONIC when the last block ended or the unit began
  std::atomic<std::uint64_t> n_calls{};               ///< of blocks, with modules in Python
  std::atomic<std::uint64_t> calls_ns{};              ///< CPU time of these
  std::atomic<std::uint64_t> fixed_ns{};              ///< part of it that does not depend on events
  std::atomic<std::uint64_t> kept_per_event_bytes{};  ///< memory that calls of `kept_by` leave
  std::atomic<std::uint32_t> kept_by{};   ///< number of a Python module, from 1 on; 0: not known
  std::atomic<std::uint32_t> state{};     ///< ChildState
  std::atomic<bool> crashed_elsewhere{};  ///< in another thread than the first
  /// Order; written by the parent. Lanes read it at every block: no field that they write may be
  /// next to it.
  alignas(cache_line_pair) std::atomic<std::uint32_t> order{};
};

enum class ChildState : std::uint8_t { not_started, starting, processing, finishing, done, failed };

/// The parent's wish for a child; a larger value is more urgent.
enum class Order : std::uint8_t { proceed, end_after_unit, end_after_block };

/// CLOCK_MONOTONIC at the kernel's last tick (milliseconds), which costs a few nanoseconds.
[[nodiscard]] std::int64_t coarse_now_ns();
/// Notes this time, and returns it.
std::int64_t note_heartbeat(StatusSlot& slot);

/// An anonymous shared mapping with one slot per child, made by the parent before the fork.
class StatusBoard {
 public:
  explicit StatusBoard(std::size_t n_children);

  [[nodiscard]] std::size_t size() const { return slots_.size(); }
  [[nodiscard]] StatusSlot& operator[](std::size_t child) { return slots_[child]; }

 private:
  SharedArray<StatusSlot> slots_;
};

}  // namespace forkrun
