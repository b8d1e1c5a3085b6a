#include <forkrun/concurrency/waiting_task_list.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <thread>

#include <forkrun/concurrency/executor.hpp>

namespace forkrun {
namespace {

class CountingTask final : public WaitingTask {
 public:
  void execute(ReadyTasks& /*ready*/) noexcept override { ++n_executed; }
  std::atomic<int> n_executed{};
};

/// Runs `step` as a task of a serial executor.
template <typename Step>
void run_with_ready(Step step) {
  class StepTask final : public Task {
   public:
    explicit StepTask(Step& s) : step_{s} {}
    void execute(ReadyTasks& ready) noexcept override { step_(ready); }

   private:
    Step& step_;
  };
  StepTask task{step};
  make_serial_executor()->run(task);
}

TEST(WaitingTaskListTest, first_to_add_learns_it_and_late_ones_need_not_wait) {
  WaitingTaskList list;
  CountingTask task;
  WaitingTaskLink links[3]{{&task, nullptr}, {&task, nullptr}, {&task, nullptr}};
  task.expect(2);
  EXPECT_EQ(list.add(links[0]), WaitingTaskList::Added::first);
  EXPECT_EQ(list.add(links[1]), WaitingTaskList::Added::waiting);
  run_with_ready([&](ReadyTasks& ready) { list.close(ready); });
  EXPECT_EQ(task.n_executed, 1);
  EXPECT_EQ(list.add(links[2]), WaitingTaskList::Added::done);
  list.reset();
  EXPECT_EQ(list.add(links[2]), WaitingTaskList::Added::first);
}

TEST(WaitingTaskListTest, task_is_executed_after_the_last_of_its_lists) {
  WaitingTaskList first, second;
  CountingTask task;
  WaitingTaskLink links[2]{{&task, nullptr}, {&task, nullptr}};
  task.expect(2);
  (void)first.add(links[0]);
  (void)second.add(links[1]);
  run_with_ready([&](ReadyTasks& ready) { first.close(ready); });
  EXPECT_EQ(task.n_executed, 0);
  run_with_ready([&](ReadyTasks& ready) { second.close(ready); });
  EXPECT_EQ(task.n_executed, 1);
}

/// One thread closes while two others add: each task is notified once, by `close` or by the answer.
TEST(WaitingTaskListTest, nobody_is_forgotten_when_adding_races_with_closing) {
  constexpr int n_rounds = 3000;
  WaitingTaskList list;
  CountingTask tasks[2];
  WaitingTaskLink links[2]{{&tasks[0], nullptr}, {&tasks[1], nullptr}};
  std::atomic<int> n_first{}, n_done{};
  std::barrier round{3};
  const auto add = [&](std::size_t i) {
    for (int n = 0; n < n_rounds; ++n) {
      tasks[i].expect(1);
      round.arrive_and_wait();
      const auto added = list.add(links[i]);
      n_first += added == WaitingTaskList::Added::first ? 1 : 0;
      n_done += added == WaitingTaskList::Added::done ? 1 : 0;
      round.arrive_and_wait();
    }
  };
  std::thread first{add, 0}, second{add, 1};
  for (int n = 0; n < n_rounds; ++n) {
    list.reset();
    round.arrive_and_wait();
    run_with_ready([&](ReadyTasks& ready) { list.close(ready); });
    round.arrive_and_wait();
  }
  first.join();
  second.join();
  EXPECT_EQ(tasks[0].n_executed + tasks[1].n_executed + n_done, 2 * n_rounds);
  EXPECT_LE(n_first, n_rounds);
}

}  // namespace
}  // namespace forkrun
