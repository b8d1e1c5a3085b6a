#include <forkrun/process/fork.hpp>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <system_error>

#include <forkrun/process/child_signals.hpp>

namespace forkrun {

namespace {

// A fork copies one thread, and a module's call sees the values of its own process.
bool is_claimed = false;
bool is_copy = false;

/// A copy ends with its original: that one may be killed, and its parent too, so that nobody is
/// left to end the copy.
void note_copy() {
  is_copy = is_claimed;
  if (is_copy) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  }
}

/// Opens when its last writer, the parent, closes it or ends.
class Gate {
 public:
  Gate() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) {
      throw std::system_error{errno, std::generic_category()};
    }
  }
  ~Gate() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// In a child.
  void wait() {
    ::close(ends_[1]);
    ends_[1] = -1;
    char nothing = 0;
    while (::read(ends_[0], &nothing, 1) < 0 && errno == EINTR) {
    }
  }

 private:
  std::array<int, 2> ends_{};
};

void end_all(const std::vector<pid_t>& pids) {
  for (const auto pid : pids) {
    ::kill(pid, SIGKILL);
  }
  for (const auto pid : pids) {
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

/// When memory runs out, the kernel should kill a child, which can be replaced, rather than the
/// parent.
void offer_to_oom_killer() {
  const auto file = ::open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
  if (file < 0) {
    return;
  }
  std::array<char, 16> text{};
  const auto n_read = ::read(file, text.data(), text.size());
  int score = 0;
  if (n_read > 0 && std::from_chars(text.data(), text.data() + n_read, score).ec == std::errc{}) {
    score = std::min(score + 100, 1000);
    const auto length = std::snprintf(text.data(), text.size(), "%d", score);
    (void)!::pwrite(file, text.data(), static_cast<std::size_t>(length), 0);
  }
  ::close(file);
}

bool is_child_process = false;

void become_child(pid_t parent) {
  is_child_process = true;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) {
    ::_exit(1);
  }
  adopt_orphans(true);
  forget_signals();
  unclaim_process();
  offer_to_oom_killer();
}

}  // namespace

void adopt_orphans(bool yes) { ::prctl(PR_SET_CHILD_SUBREAPER, yes ? 1 : 0); }

bool is_child() { return is_child_process; }

Forked fork_children(std::size_t n, bool together) {
  Forked forked;
  forked.pids.reserve(n);
  std::optional<Gate> gate;
  if (together) {
    gate.emplace();
  }
  const auto parent = ::getpid();
  for (std::size_t i = 0; i < n; ++i) {
    const auto pid = ::fork();
    if (pid < 0) {
      const auto error = errno;
      end_all(forked.pids);
      throw std::system_error{error, std::generic_category()};
    }
    if (pid == 0) {
      become_child(parent);
      if (gate) {
        gate->wait();
      }
      return {{}, i};
    }
    forked.pids.push_back(pid);
  }
  return forked;
}

void claim_process() {
  [[maybe_unused]] static const int registered = ::pthread_atfork(nullptr, nullptr, note_copy);
  is_claimed = true;
  is_copy = false;
}

void unclaim_process() { is_claimed = is_copy = false; }

bool is_forked_copy() { return is_copy; }

void end_forked_copy(int exit_code, std::string_view error) {
  constexpr std::string_view words =
      "forkrun: a process that a module forked returned from the module, and was ended: it would "
      "do the work of its parent once more. End it in the module, with os._exit().\n";
  for (const auto text : {words, error, std::string_view{error.empty() ? "" : "\n"}}) {
    (void)!::write(STDERR_FILENO, text.data(), text.size());
  }
  ::_exit(exit_code);
}

}  // namespace forkrun
