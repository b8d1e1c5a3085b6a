#pragma once

#include <cstddef>
#include <functional>

namespace forkrun {

/// Size of a fresh stack.
inline constexpr std::size_t fresh_stack_bytes = std::size_t{16} << 20U;
/// Largest number of fresh stacks upon each other, 1 GiB together.
inline constexpr int n_fresh_stacks_at_most = 64;

/// Whether so little is left of the calling thread's stack (1 MiB, or half of a smaller one) that
/// what may call many others in turn should continue on a fresh one.
[[nodiscard]] bool is_stack_short() noexcept;

/// Calls `body` on a stack of its own, that of another thread, and waits until it returns. To the
/// executor it is the calling thread. Rethrows what `body` throws. False, without a call, if so
/// many fresh stacks lie upon each other already, or the system has no further thread for us.
[[nodiscard]] bool call_on_fresh_stack(const std::function<void()>& body);

}  // namespace forkrun
