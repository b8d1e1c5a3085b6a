#include <forkrun/process/forked_copy.hpp>

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

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

}  // namespace

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
