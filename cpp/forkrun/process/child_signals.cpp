#include <forkrun/process/child_signals.hpp>

#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include <forkrun/process/status_board.hpp>

namespace forkrun {

namespace {

std::atomic<std::uint32_t>* order_of_child = nullptr;
pid_t parent_of_child = 0;

constexpr std::array kOfParent{SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2};

/// A handler, since programs started by a module would inherit an ignored signal.
void do_nothing(int /*number*/, siginfo_t* /*info*/, void* /*context*/) {}

void note_order(int /*number*/, siginfo_t* info, void* /*context*/) {
  if (info->si_pid == parent_of_child) {
    order_of_child->store(static_cast<std::uint32_t>(Order::end_after_block));
  }
}

constexpr std::array kCrashes{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
std::atomic<bool>* crashed_elsewhere = nullptr;
std::array<struct sigaction, kCrashes.size()> actions_before;

/// The default action follows.
void note_crash(int number, siginfo_t* info, void* context) {
  if (::syscall(SYS_gettid) != ::getpid()) {
    crashed_elsewhere->store(true);
  }
  const auto place =
      static_cast<std::size_t>(std::ranges::find(kCrashes, number) - kCrashes.begin());
  const auto& before = actions_before.at(place);
  ::sigaction(number, &before, nullptr);
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(number, info, context);
  } else if (before.sa_handler == SIG_DFL) {
    ::raise(number);  // Arrives after the handler's return.
  } else if (before.sa_handler != SIG_IGN) {
    before.sa_handler(number);
  }
}

/// Calls only functions that a signal handler may call, once libgcc is loaded.
void write_stack(int /*number*/, siginfo_t* /*info*/, void* /*context*/) {
  const auto saved_errno = errno;
  std::array<char, 64> title{};
  const auto length = std::snprintf(title.data(), title.size(), "Stack of thread %ld:\n",
                                    static_cast<long>(::syscall(SYS_gettid)));
  std::array<void*, 64> frames{};
  const auto n_frames = ::backtrace(frames.data(), frames.size());
  (void)!::write(STDERR_FILENO, title.data(), static_cast<std::size_t>(length));
  ::backtrace_symbols_fd(frames.data(), n_frames, STDERR_FILENO);
  errno = saved_errno;
}

void handle(int number, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action{};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(number, &action, nullptr);
}

// A copy that a module forks takes the default actions: it is ended with SIGTERM, as by
// multiprocessing, perhaps at once; so signals wait until the copy has taken them.

thread_local sigset_t mask_before;

void hold_signals() {
  sigset_t held;
  ::sigemptyset(&held);
  for (const int number : kOfParent) {
    ::sigaddset(&held, number);
  }
  ::pthread_sigmask(SIG_BLOCK, &held, &mask_before);
}

void release_signals() { ::pthread_sigmask(SIG_SETMASK, &mask_before, nullptr); }

void take_default_actions() {
  for (const int number : kOfParent) {
    struct sigaction action{};
    ::sigaction(number, nullptr, &action);
    const bool is_ours = (action.sa_flags & SA_SIGINFO) != 0 &&
                         (action.sa_sigaction == do_nothing || action.sa_sigaction == note_order);
    if (is_ours) {
      ::signal(number, SIG_DFL);
    }
  }
  release_signals();
}

}  // namespace

void forget_signals() {
  [[maybe_unused]] static const int registered =
      ::pthread_atfork(hold_signals, release_signals, take_default_actions);
  for (const int number : {SIGCHLD, SIGSEGV, SIGBUS, SIGILL, SIGFPE}) {
    ::signal(number, SIG_DFL);
  }
  for (const int number : kOfParent) {
    struct sigaction action{};
    ::sigaction(number, nullptr, &action);
    if (action.sa_handler != SIG_IGN) {  // `nohup` does this.
      handle(number, do_nothing);
    }
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

void obey_only(pid_t parent, std::atomic<std::uint32_t>& order) {
  parent_of_child = parent;
  order_of_child = &order;
  handle(SIGTERM, note_order);
}

void note_crashes(std::atomic<bool>& elsewhere) {
  crashed_elsewhere = &elsewhere;
  for (std::size_t i = 0; i < kCrashes.size(); ++i) {
    ::sigaction(kCrashes.at(i), nullptr, &actions_before.at(i));
    handle(kCrashes.at(i), note_crash);
  }
}

int stack_signal() { return SIGRTMIN + 3; }

void write_stacks_on_signal() {
  std::array<void*, 1> frame{};
  ::backtrace(frame.data(), frame.size());  // Loads libgcc, which a handler must not do.
  handle(stack_signal(), write_stack);
}

bool ask_for_stack(pid_t process, pid_t thread) {
  return ::syscall(SYS_tgkill, process, thread, stack_signal()) == 0;
}

}  // namespace forkrun
