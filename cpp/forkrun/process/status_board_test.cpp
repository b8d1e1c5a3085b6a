#include <forkrun/process/status_board.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace forkrun {
namespace {

TEST(StatusBoardTest, parent_sees_what_a_child_writes) {
  StatusBoard board{2};
  const auto child = ::fork();
  if (child == 0) {
    board[1].n_events_done = 42;
    board[1].state = static_cast<std::uint32_t>(ChildState::done);
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(board.size(), 2U);
  EXPECT_EQ(board[0].n_events_done, 0U);
  EXPECT_EQ(board[1].n_events_done, 42U);
  EXPECT_EQ(board[1].state, static_cast<std::uint32_t>(ChildState::done));
}

TEST(StatusBoardTest, board_for_no_children_is_empty) { EXPECT_EQ(StatusBoard{0}.size(), 0U); }

}  // namespace
}  // namespace forkrun
