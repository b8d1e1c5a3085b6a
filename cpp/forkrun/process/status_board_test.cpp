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

TEST(StatusBoardTest, what_lanes_read_at_every_block_is_apart_from_what_they_write) {
  StatusBoard board{2};
  const auto address = [](const auto& field) { return reinterpret_cast<std::uintptr_t>(&field); };
  for (const auto written : {address(board[0].n_events_done), address(board[0].heartbeat_ns),
                             address(board[0].last_event), address(board[1].n_events_done)}) {
    EXPECT_NE(address(board[0].order) / cache_line_pair, written / cache_line_pair);
  }
}

TEST(StatusBoardTest, board_for_no_children_is_empty) { EXPECT_EQ(StatusBoard{0}.size(), 0U); }

}  // namespace
}  // namespace forkrun
