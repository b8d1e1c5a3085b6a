#include <forkrun/concurrency/fresh_stack.hpp>

#include <pthread.h>

#include <algorithm>
#include <cstdint>
#include <exception>

#include <forkrun/concurrency/ready_tasks.hpp>

namespace forkrun {

namespace {

/// Address below which the stack of the calling thread is short; 0 if unknown.
std::uintptr_t find_short_end() noexcept {
  pthread_attr_t attributes{};
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) {
    return 0;
  }
  void* lowest = nullptr;
  std::size_t n_bytes = 0;
  const bool is_known = ::pthread_attr_getstack(&attributes, &lowest, &n_bytes) == 0;
  ::pthread_attr_destroy(&attributes);
  constexpr std::size_t enough = std::size_t{1} << 20U;
  return is_known ? reinterpret_cast<std::uintptr_t>(lowest) + std::min(enough, n_bytes / 2) : 0;
}

/// Number of fresh stacks below the calling thread.
thread_local int n_below = 0;

struct Call {
  const std::function<void()>& body;
  ReadyTasks* ready;
  int n_below;
  std::exception_ptr failure{};
};

void* run(void* argument) {
  auto& call = *static_cast<Call*>(argument);
  ReadyTasks::set_of_this_thread(call.ready);
  n_below = call.n_below;
  try {
    call.body();
  } catch (...) {
    call.failure = std::current_exception();
  }
  return nullptr;
}

bool start(pthread_t& thread, Call& call) {
  pthread_attr_t attributes{};
  if (::pthread_attr_init(&attributes) != 0) {
    return false;
  }
  const bool is_started = ::pthread_attr_setstacksize(&attributes, fresh_stack_bytes) == 0 &&
                          ::pthread_create(&thread, &attributes, run, &call) == 0;
  ::pthread_attr_destroy(&attributes);
  return is_started;
}

}  // namespace

bool is_stack_short() noexcept {
  thread_local const std::uintptr_t short_end = find_short_end();
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) < short_end;
}

bool call_on_fresh_stack(const std::function<void()>& body) {
  if (n_below == n_fresh_stacks_at_most) {
    return false;
  }
  Call call{body, ReadyTasks::of_this_thread(), n_below + 1};
  pthread_t thread{};
  if (!start(thread, call)) {
    return false;
  }
  ::pthread_join(thread, nullptr);
  if (call.failure) {
    std::rethrow_exception(call.failure);
  }
  return true;
}

}  // namespace forkrun
