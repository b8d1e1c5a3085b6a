#include <forkrun/concurrency/ordered_task_queue.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace forkrun {
namespace {

class PlacedTask final : public Task {
 public:
  void execute(ReadyTasks& /*ready*/) noexcept override {}
  std::uint64_t number{};
};

TEST(OrderedTaskQueueTest, early_task_comes_back_when_the_one_before_it_leaves) {
  OrderedTaskQueue queue{3};
  PlacedTask tasks[4];
  EXPECT_FALSE(queue.enter(1, tasks[1]));
  EXPECT_FALSE(queue.enter(2, tasks[2]));
  EXPECT_TRUE(queue.enter(0, tasks[0]));
  EXPECT_EQ(queue.leave(0), &tasks[1]);
  EXPECT_EQ(queue.leave(1), &tasks[2]);
  EXPECT_EQ(queue.leave(2), nullptr);
  EXPECT_TRUE(queue.enter(3, tasks[3]));
}

TEST(OrderedTaskQueueTest, one_place_serves_one_task_after_the_other) {
  OrderedTaskQueue queue{1};
  PlacedTask task;
  for (std::uint64_t number = 0; number < 5; ++number) {
    EXPECT_TRUE(queue.enter(number, task));
    EXPECT_EQ(queue.leave(number), nullptr);
  }
  queue.reset();
  EXPECT_TRUE(queue.enter(0, task));
}

TEST(OrderedTaskQueueTest, numbers_pass_in_order_when_threads_race) {
  constexpr std::size_t n_threads = 4;
  constexpr std::uint64_t n_numbers = 40'000;
  OrderedTaskQueue queue{n_threads};
  std::vector<std::uint64_t> passed;  // Guarded by the queue.
  std::atomic<std::uint64_t> next{};
  std::vector<PlacedTask> tasks(n_numbers);
  std::atomic<std::uint64_t> n_done{};
  const auto pass = [&] {
    for (auto mine = next++; mine < n_numbers; mine = next++) {
      while (mine >= n_done + n_threads) {  // At most n_threads numbers under way.
        std::this_thread::yield();
      }
      tasks[mine].number = mine;
      Task* turn = queue.enter(mine, tasks[mine]) ? &tasks[mine] : nullptr;
      while (turn != nullptr) {
        const auto number = static_cast<PlacedTask*>(turn)->number;
        passed.push_back(number);
        turn = queue.leave(number);
        ++n_done;
      }
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < n_threads; ++i) {
    threads.emplace_back(pass);
  }
  for (auto& thread : threads) {
    thread.join();
  }
  ASSERT_EQ(passed.size(), n_numbers);
  for (std::uint64_t number = 0; number < n_numbers; ++number) {
    ASSERT_EQ(passed[number], number);
  }
}

}  // namespace
}  // namespace forkrun
