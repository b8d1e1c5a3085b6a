#include <forkrun/process/child_signals.hpp>

#include <execinfo.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include <forkrun/process/status_board.hpp>

namespace forkrun {

namespace {

std::atomic<std::uint32_t>* order_of_child = nullptr;
pid_t parent_of_child = 0;

void note_order(int /*number*/, siginfo_t* info, void* /*context*/) {
  if (info->si_pid == parent_of_child) {
    order_of_child->store(static_cast<std::uint32_t>(Order::end_after_block));
  }
}

/// Only what a signal handler may call, once libgcc is loaded.
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

}  // namespace

void forget_signals() {
  for (const int number : {SIGCHLD, SIGSEGV, SIGBUS, SIGILL, SIGFPE}) {
    ::signal(number, SIG_DFL);
  }
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2}) {
    ::signal(number, SIG_IGN);
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

int stack_signal() { return SIGRTMIN + 3; }

void write_stacks_on_signal() {
  std::array<void*, 1> frame{};
  ::backtrace(frame.data(), frame.size());  // Loads libgcc, which a handler may not.
  handle(stack_signal(), write_stack);
}

bool ask_for_stack(pid_t process, pid_t thread) {
  return ::syscall(SYS_tgkill, process, thread, stack_signal()) == 0;
}

}  // namespace forkrun
