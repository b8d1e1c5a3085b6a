#include <forkrun/concurrency/limited_task_queue.hpp>

#include <gtest/gtest.h>

namespace forkrun {
namespace {

class NoTask final : public Task {
  void execute(ReadyTasks& /*ready*/) noexcept override {}
};

TEST(LimitedTaskQueueTest, admits_as_many_as_allowed_and_the_rest_in_order) {
  LimitedTaskQueue queue{2};
  NoTask a, b, c, d;
  EXPECT_TRUE(queue.enter(a));
  EXPECT_TRUE(queue.enter(b));
  EXPECT_FALSE(queue.enter(c));
  EXPECT_FALSE(queue.enter(d));
  EXPECT_EQ(queue.leave(), &c);
  EXPECT_EQ(queue.leave(), &d);
  EXPECT_FALSE(queue.enter(b));
  EXPECT_EQ(queue.leave(), &b);
  EXPECT_EQ(queue.leave(), nullptr);
  EXPECT_EQ(queue.leave(), nullptr);
  EXPECT_TRUE(queue.enter(a));
}

}  // namespace
}  // namespace forkrun
