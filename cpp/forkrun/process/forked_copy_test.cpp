#include <forkrun/process/forked_copy.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace forkrun {
namespace {

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
