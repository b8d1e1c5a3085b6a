#include <forkrun/process/fork.hpp>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include <forkrun/core/status_board.hpp>

namespace forkrun {
namespace {

constexpr std::size_t n_children = 100;

int exit_code_of(pid_t pid) {
  int status = -1;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::size_t n_children_of(pid_t pid) {
  const auto process = std::to_string(pid);
  std::ifstream file{"/proc/" + process + "/task/" + process + "/children"};
  return static_cast<std::size_t>(std::distance(std::istream_iterator<pid_t>{file}, {}));
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

TEST(ForkTest, together_means_that_nobody_starts_before_all_are_there) {
  const auto parent = ::getpid();
  StatusBoard n_seen{n_children};
  const auto forked = fork_children(n_children, true);
  if (forked.child) {
    n_seen[*forked.child].n_events_done = n_children_of(parent);
    ::pause();
  }
  for (std::size_t i = 0; i < n_children; ++i) {
    while (n_seen[i].n_events_done == 0) {
      ::usleep(1000);
    }
  }
  for (std::size_t i = 0; i < n_children; ++i) {
    EXPECT_EQ(n_seen[i].n_events_done, n_children);
    ::kill(forked.pids[i], SIGKILL);
    ::waitpid(forked.pids[i], nullptr, 0);
  }
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

/// In a process of its own, which may have two children and no third one.
int fork_too_many() {
  const rlimit limit{3, 3};
  ::setrlimit(RLIMIT_NPROC, &limit);
  (void)!::setuid(65534);  // there is no limit for root
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
  EXPECT_EQ(exit_code_of(pid), 0);
}

}  // namespace
}  // namespace forkrun
