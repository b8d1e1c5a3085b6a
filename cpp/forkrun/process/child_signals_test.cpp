#include <forkrun/process/child_signals.hpp>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <forkrun/process/fork.hpp>
#include <forkrun/process/status_board.hpp>

namespace forkrun {
namespace {

constexpr auto end_after_block = static_cast<std::uint32_t>(Order::end_after_block);

TEST(ChildSignalsTest, only_the_parent_can_stop_a_child) {
  StatusBoard board{1};
  board[0].state = 0;
  const auto parent = ::getpid();
  const auto forked = fork_children(1, false);
  if (forked.child) {
    obey_only(parent, board[0].order);
    for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2}) {
      ::raise(number);  // As from a stranger: the child itself is not its parent.
    }
    const bool is_untouched = board[0].order == 0;
    board[0].state = 1;
    while (board[0].order == 0) {
      ::usleep(1000);
    }
    ::_exit(is_untouched ? 0 : 1);
  }
  while (board[0].state == 0) {
    ::usleep(1000);
  }
  ::kill(forked.pids[0], SIGTERM);
  int status = -1;
  ASSERT_EQ(::waitpid(forked.pids[0], &status, 0), forked.pids[0]);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(board[0].order, end_after_block);
}

TEST(ChildSignalsTest, a_thread_that_is_asked_writes_its_stack_and_goes_on) {
  write_stacks_on_signal();
  testing::internal::CaptureStderr();
  EXPECT_TRUE(ask_for_stack(::getpid(), ::gettid()));
  const auto text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("Stack of thread " + std::to_string(::gettid())), std::string::npos) << text;
  EXPECT_NE(text.find("core_test"), std::string::npos) << text;
  ::signal(stack_signal(), SIG_DFL);
}

}  // namespace
}  // namespace forkrun
