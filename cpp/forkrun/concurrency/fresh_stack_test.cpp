#include <forkrun/concurrency/fresh_stack.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

namespace forkrun {
namespace {

/// Calls itself on ever more of the stack until that is short; how often.
int fill_stack(int depth = 0) {  // NOLINT(misc-no-recursion): what is tested
  volatile char frame[10'000]{};
  frame[0] = 1;
  return is_stack_short() || depth == 100'000 ? depth : fill_stack(depth + 1) + frame[0] - 1;
}

TEST(FreshStackTest, a_stack_is_short_before_it_is_full_and_a_fresh_one_is_not) {
  std::thread{[] {
    EXPECT_FALSE(is_stack_short());
    const int depth = fill_stack();
    EXPECT_GT(depth, 0);
    EXPECT_LT(depth, 100'000);
  }}.join();
  bool is_short = true;
  EXPECT_TRUE(call_on_fresh_stack([&] { is_short = is_stack_short(); }));
  EXPECT_FALSE(is_short);
}

TEST(FreshStackTest, what_is_thrown_there_arrives_here) {
  EXPECT_THROW((void)call_on_fresh_stack([] { throw std::out_of_range{"seven"}; }),
               std::out_of_range);
}

TEST(FreshStackTest, there_are_so_many_upon_each_other_and_no_more) {
  int depth = 0;
  const std::function<bool()> go_on = [&] {
    bool was_called = true;
    if (!call_on_fresh_stack([&] { ++depth, was_called = go_on(); })) {
      return false;
    }
    return was_called;
  };
  EXPECT_FALSE(go_on());
  EXPECT_EQ(depth, n_fresh_stacks_at_most);
  EXPECT_TRUE(call_on_fresh_stack([] {}));  // They are gone again.
}

}  // namespace
}  // namespace forkrun
