#pragma once

#include <cstdint>

namespace forkrun::replay {

/// Keeps a core busy with the numeric integration of a function: so many steps, each of some
/// nanoseconds, that depend on each other.
void integrate(std::uint64_t n_steps);

/// Steps per second on this machine: the best of some tries of some milliseconds.
[[nodiscard]] double measure_steps_per_s();

}  // namespace forkrun::replay
