#include <forkrun/process/fork.hpp>

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <fstream>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

#include <forkrun/process/status_board.hpp>

namespace forkrun {

namespace {

constexpr std::size_t n_children = 100;

int exit_code_of(pid_t pid) {
  int status = -1;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ForkTest, every_child_gets_its_number) {
  const auto forked = fork_children(n_children, false);
  if (forked.child) {
    ::_exit(static_cast<int>(*forked.child));
  }
  ASSERT_EQ(forked.pids.size(), n_children);
  for (std::size_t i = 0; i < n_children; ++i) {
    EXPECT_EQ(exit_code_of(forked.pids[i]), static_cast<int>(i));
  }
}

std::atomic<std::uint64_t>* n_forked = nullptr;

TEST(ForkTest, together_means_that_nobody_starts_before_all_are_there) {
  StatusBoard board{1};
  n_forked = &board[0].n_events_done;
  ::pthread_atfork(nullptr, nullptr, [] {
    if (n_forked != nullptr) {
      n_forked->fetch_add(1);
    }
  });
  const auto forked = fork_children(n_children, true);
  if (forked.child) {
    ::_exit(*n_forked == n_children ? 0 : 1);
  }
  for (const auto pid : forked.pids) {
    EXPECT_EQ(exit_code_of(pid), 0);
  }
  n_forked = nullptr;
}

TEST(ForkTest, a_child_does_not_answer_to_what_stops_its_parent_and_dies_with_it) {
  const auto forked = fork_children(1, true);
  if (forked.child) {
    for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2}) {
      ::raise(number);
    }
    int number = 0;
    ::prctl(PR_GET_PDEATHSIG, &number);
    ::_exit(number == SIGKILL ? 0 : 1);
  }
  EXPECT_EQ(exit_code_of(forked.pids.at(0)), 0);
}

int oom_score_of_this() {
  int score = -2000;
  std::ifstream{"/proc/self/oom_score_adj"} >> score;
  return score;
}

TEST(ForkTest, where_memory_runs_out_a_child_goes_first) {
  const auto score = oom_score_of_this();
  if (score < -1000 || score >= 1000) {
    GTEST_SKIP() << "this process goes first already, or cannot know";
  }
  const auto forked = fork_children(1, false);
  if (forked.child) {
    ::_exit(oom_score_of_this() > score ? 0 : 1);
  }
  EXPECT_EQ(exit_code_of(forked.pids.at(0)), 0);
}

constexpr int cannot_be_limited = 77;

/// In a process of its own, which may have two children and no third one.
int fork_too_many() {
  const rlimit limit{3, 3};
  ::setrlimit(RLIMIT_NPROC, &limit);
  (void)!::setuid(65534);  // there is no limit for root
  std::vector<pid_t> pids;
  for (int i = 0; i < 4; ++i) {
    const auto pid = ::fork();
    if (pid == 0) {
      ::pause();
    }
    pids.push_back(pid);
  }
  const bool is_limited = pids.back() < 0;
  for (const auto pid : pids) {
    if (pid > 0) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  }
  if (!is_limited) {
    return cannot_be_limited;
  }
  try {
    const auto forked = fork_children(n_children, true);
    return forked.child ? 0 : 1;
  } catch (const std::system_error& error) {
    const bool nobody_left = ::waitpid(-1, nullptr, 0) < 0 && errno == ECHILD;
    return error.code().value() == EAGAIN && nobody_left ? 0 : 2;
  }
}

TEST(ForkTest, if_one_fork_fails_nobody_is_left) {
  const auto pid = ::fork();
  if (pid == 0) {
    ::_exit(fork_too_many());
  }
  const auto code = exit_code_of(pid);
  if (code == cannot_be_limited) {
    GTEST_SKIP() << "the number of processes cannot be limited here";
  }
  EXPECT_EQ(code, 0);
}

/// What a forked process finds, as its exit code.
template <class Function>
int exit_code_of_copy(Function function) {
  const auto pid = ::fork();
  if (pid == 0) {
    ::_exit(function());
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WEXITSTATUS(status);
}

TEST(ForkedCopy, OnlyACopyOfAClaimedProcessIsOne) {
  unclaim_process();
  EXPECT_EQ(exit_code_of_copy([] { return is_forked_copy() ? 1 : 0; }), 0);
  claim_process();
  EXPECT_FALSE(is_forked_copy());
  EXPECT_EQ(exit_code_of_copy([] { return is_forked_copy() ? 1 : 0; }), 1);
  EXPECT_EQ(exit_code_of_copy([] {
              claim_process();
              return is_forked_copy() ? 1 : 0;
            }),
            0);
  unclaim_process();
}

TEST(ForkedCopy, EndsWithItsExitCode) {
  EXPECT_EQ(exit_code_of_copy([]() -> int { end_forked_copy(7); }), 7);
}

}  // namespace

}  // namespace forkrun
