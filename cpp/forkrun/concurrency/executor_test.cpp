#include <forkrun/concurrency/executor.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <forkrun/concurrency/ready_tasks.hpp>
#include <forkrun/concurrency/waiting_task_list.hpp>

namespace forkrun {
namespace {

/// What every executor must do, whatever its threads.
class ExecutorTest : public ::testing::TestWithParam<std::size_t> {
 protected:
  /// 0 threads stand for the serial executor.
  std::unique_ptr<Executor> executor =
      GetParam() == 0 ? make_serial_executor() : make_tbb_executor(GetParam());
};

class FunctionTask final : public WaitingTask {
 public:
  void execute(ReadyTasks& ready) noexcept override { function(ready); }
  std::function<void(ReadyTasks&)> function;
};

TEST_P(ExecutorTest, run_returns_when_all_that_followed_has_ended) {
  constexpr std::size_t n_tasks = 1000;
  std::vector<FunctionTask> tasks(n_tasks);
  std::atomic<std::size_t> n_executed{};
  for (std::size_t i = 0; i < n_tasks;
       ++i) {  // A binary tree: task i makes 2i + 1 and 2i + 2 ready.
    tasks[i].function = [&, i](ReadyTasks& ready) {
      ++n_executed;
      for (const auto next : {2 * i + 1, 2 * i + 2}) {
        if (next < n_tasks) {
          ready.push(tasks[next]);
        }
      }
    };
  }
  executor->run(tasks[0]);
  EXPECT_EQ(n_executed, n_tasks);
  executor->run(tasks[0]);
  EXPECT_EQ(n_executed, 2 * n_tasks);
}

TEST_P(ExecutorTest, the_task_made_ready_last_runs_on_the_same_thread) {
  FunctionTask first, second;
  std::thread::id thread_of_first, thread_of_second;
  first.function = [&](ReadyTasks& ready) {
    thread_of_first = std::this_thread::get_id();
    ready.push(second);
  };
  second.function = [&](ReadyTasks&) { thread_of_second = std::this_thread::get_id(); };
  executor->run(first);
  EXPECT_EQ(thread_of_first, thread_of_second);
}

TEST_P(ExecutorTest, a_long_chain_needs_no_stack) {
  constexpr int n_links = 1'000'000;
  FunctionTask task;
  int n_executed = 0;
  task.function = [&](ReadyTasks& ready) {
    if (++n_executed < n_links) {
      ready.push(task);
    }
  };
  executor->run(task);
  EXPECT_EQ(n_executed, n_links);
}

TEST_P(ExecutorTest, a_task_sees_what_all_it_waited_for_have_written) {
  constexpr std::size_t n_makers = 8;
  for (int round = 0; round < 200; ++round) {
    std::vector<FunctionTask> makers(n_makers);
    std::vector<WaitingTaskList> lists(n_makers);
    std::vector<WaitingTaskLink> links(n_makers);
    std::vector<int> made(n_makers);
    int sum = 0;
    FunctionTask start, reader;
    reader.function = [&](ReadyTasks&) {
      for (const auto value : made) {
        sum += value;
      }
    };
    reader.expect(n_makers);
    for (std::size_t i = 0; i < n_makers; ++i) {
      links[i].task = &reader;
      EXPECT_EQ(lists[i].add(links[i]), WaitingTaskList::Added::first);
      makers[i].function = [&, i](ReadyTasks& ready) {
        made[i] = 1;
        lists[i].close(ready);
      };
    }
    start.function = [&](ReadyTasks& ready) {
      for (auto& maker : makers) {
        ready.push(maker);
      }
    };
    executor->run(start);
    ASSERT_EQ(sum, static_cast<int>(n_makers));
  }
}

TEST_P(ExecutorTest, for_each_calls_every_index_once_within_a_task) {
  std::vector<std::atomic<int>> n_calls(100);
  FunctionTask task;
  task.function = [&](ReadyTasks&) {
    executor->for_each(n_calls.size(), [&](std::size_t i) { ++n_calls[i]; });
  };
  executor->run(task);
  for (const auto& n : n_calls) {
    EXPECT_EQ(n, 1);
  }
}

TEST_P(ExecutorTest, for_each_rethrows_what_its_body_threw) {
  const auto fail = [](std::size_t i) {
    if (i == 3) {
      throw std::runtime_error{"three"};
    }
  };
  EXPECT_THROW(executor->for_each(5, fail), std::runtime_error);
}

INSTANTIATE_TEST_SUITE_P(Threads, ExecutorTest, ::testing::Values(0, 1, 2, 4, 7));

}  // namespace
}  // namespace forkrun
