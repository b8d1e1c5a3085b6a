#include <forkrun/concurrency/serial_task_queue.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace forkrun {
namespace {

class NumberedTask final : public Task {
 public:
  explicit NumberedTask(int n) : number{n} {}
  void execute(ReadyTasks& /*ready*/) noexcept override {}
  int number;
};

TEST(SerialTaskQueueTest, tasks_own_the_resource_in_the_order_of_their_arrival) {
  SerialTaskQueue queue;
  NumberedTask tasks[]{NumberedTask{0}, NumberedTask{1}, NumberedTask{2}, NumberedTask{3}};
  EXPECT_TRUE(queue.enter(tasks[0]));
  EXPECT_FALSE(queue.enter(tasks[1]));
  EXPECT_FALSE(queue.enter(tasks[2]));
  EXPECT_EQ(queue.leave(), &tasks[1]);
  EXPECT_FALSE(queue.enter(tasks[3]));
  EXPECT_EQ(queue.leave(), &tasks[2]);
  EXPECT_EQ(queue.leave(), &tasks[3]);
  EXPECT_EQ(queue.leave(), nullptr);
  EXPECT_TRUE(queue.enter(tasks[0]));
  EXPECT_EQ(queue.leave(), nullptr);
}

/// Each thread enters again and again; the thread that owns the resource also works for those that
/// wait.
TEST(SerialTaskQueueTest, one_at_a_time_and_everyone_gets_a_turn_when_threads_race) {
  constexpr int n_threads = 4;
  constexpr int n_entries = 20'000;
  SerialTaskQueue queue;
  int n_served = 0;  // Not atomic: the queue guards it.
  std::atomic<int> n_inside{};
  std::atomic<int> n_overlaps{};
  const auto serve = [&] {
    n_overlaps += n_inside.fetch_add(1);
    ++n_served;
    --n_inside;
  };
  const auto work = [&] {
    std::vector<NumberedTask> tasks(n_entries, NumberedTask{0});
    for (auto& task : tasks) {
      if (!queue.enter(task)) {
        continue;
      }
      serve();
      while (queue.leave() != nullptr) {
        serve();
      }
    }
    return tasks;  // Kept until all threads have ended.
  };
  std::vector<std::vector<NumberedTask>> kept(n_threads);
  std::vector<std::thread> threads;
  for (auto& tasks : kept) {
    threads.emplace_back([&] { tasks = work(); });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(n_served, n_threads * n_entries);
  EXPECT_EQ(n_overlaps, 0);
}

}  // namespace
}  // namespace forkrun
