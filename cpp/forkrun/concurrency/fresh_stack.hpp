#pragma once

#include <cstddef>
#include <functional>

namespace forkrun {

/// Size of a fresh stack.
inline constexpr std::size_t fresh_stack_bytes = std::size_t{16} << 20U;
/// Largest number of nested fresh stacks, 1 GiB together.
inline constexpr int n_fresh_stacks_at_most = 64;

/// Whether so little is left of the calling thread's stack (1 MiB, or half of a smaller one) that
/// deep recursion should continue on a fresh one.
[[nodiscard]] bool is_stack_short() noexcept;

/// Calls `body` on a fresh stack, that of another thread, and waits until it returns. To the
/// executor it is the calling thread. Rethrows exceptions of `body`. False, without a call, at the
/// largest number of nested stacks, or if the system has no further thread.
[[nodiscard]] bool call_on_fresh_stack(const std::function<void()>& body);

}  // namespace forkrun
