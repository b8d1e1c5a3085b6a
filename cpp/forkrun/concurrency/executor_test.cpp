#include <forkrun/concurrency/executor.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <forkrun/concurrency/ready_tasks.hpp>
#include <forkrun/concurrency/task_group.hpp>
#include <forkrun/concurrency/team.hpp>
#include <forkrun/concurrency/waiting_task_list.hpp>
#include <testing/has_dispatch.hpp>

namespace forkrun {
namespace {

struct Kind {
  std::string name;
  std::function<std::unique_ptr<Executor>(std::size_t)> make;
  std::size_t n_threads;
};

void PrintTo(const Kind& kind, std::ostream* stream) {
  *stream << kind.name << " with " << kind.n_threads << " threads";
}

/// What every executor must do, whatever its threads.
class ExecutorTest : public ::testing::TestWithParam<Kind> {
 protected:
  std::unique_ptr<Executor> executor = GetParam().make(GetParam().n_threads);
};

class FunctionTask : public WaitingTask {
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

/// How many tasks, one for each thread, have been executed at the same time as all others.
std::size_t count_met(Executor& executor) {
  using Clock = std::chrono::steady_clock;
  const auto n_threads = executor.n_threads();
  std::vector<FunctionTask> tasks(n_threads);
  std::atomic<std::size_t> n_inside{};
  std::atomic<std::size_t> n_met{};
  for (auto& task : tasks) {  // Each computes until all of them do.
    task.function = [&](ReadyTasks&) {
      ++n_inside;
      const auto deadline = Clock::now() + std::chrono::seconds{30};
      while (n_inside < n_threads && Clock::now() < deadline) {
      }
      n_met += n_inside == n_threads ? 1 : 0;
    };
  }
  FunctionTask start;
  start.function = [&](ReadyTasks& ready) {
    for (auto& task : tasks) {
      ready.push(task);
    }
  };
  executor.run(start);
  return n_met;
}

TEST_P(ExecutorTest, as_many_tasks_run_at_a_time_as_threads_were_asked_for) {
  EXPECT_EQ(executor->n_threads(), GetParam().n_threads);
  EXPECT_EQ(count_met(*executor), GetParam().n_threads);
}

TEST_P(ExecutorTest, has_its_threads_also_beside_executors_of_fewer) {
  const auto one = GetParam().make(1);
  const auto beside = GetParam().make(GetParam().n_threads);
  EXPECT_EQ(count_met(*beside), GetParam().n_threads);
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

TEST_P(ExecutorTest, a_loop_within_a_loop_ends) {
  std::atomic<int> n_calls{};
  executor->for_each(5,
                     [&](std::size_t) { executor->for_each(7, [&](std::size_t) { ++n_calls; }); });
  EXPECT_EQ(n_calls, 35);
}

TEST_P(ExecutorTest, run_waits_for_what_is_expected_from_outside) {
  constexpr std::size_t n_tasks = 50;
  std::vector<FunctionTask> tasks(n_tasks);
  std::atomic<std::size_t> n_executed{};
  std::vector<std::jthread> outside;
  FunctionTask start;
  for (auto& task : tasks) {
    task.function = [&](ReadyTasks&) { ++n_executed; };
  }
  start.function = [&](ReadyTasks&) {
    for (auto& task : tasks) {
      executor->expect_outside();
      outside.emplace_back([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
        executor->submit(task);
      });
    }
    executor->expect_outside();
    executor->expect_no_more();
  };
  executor->run(start);
  EXPECT_EQ(n_executed, n_tasks);
}

/// Waits on its stack for `maker`, as a module does that asks for a product.
void wait_on_stack_for(FunctionTask& maker, WaitingTaskList& done, Task::Rank rank,
                       ReadyTasks& ready) {
  ReadyTasks::Wakeup wakeup{ready};
  wakeup.expect(1);
  WaitingTaskLink link{&wakeup, nullptr};
  switch (done.add(link)) {
    case WaitingTaskList::Added::first: ready.push(maker); [[fallthrough]];
    case WaitingTaskList::Added::waiting: ready.work_until(wakeup, rank); break;
    case WaitingTaskList::Added::done: break;
  }
}

/// A task whose rank can be chosen.
class RankedTask final : public FunctionTask {
 public:
  using FunctionTask::set_rank;
};

TEST_P(ExecutorTest, tasks_that_wait_on_the_stack_for_each_other_all_end) {
  constexpr std::size_t n_chains = 20;
  constexpr std::size_t n_links = 50;  // Link i waits for link i - 1.
  std::vector<std::vector<RankedTask>> tasks(n_chains);
  std::vector<std::vector<WaitingTaskList>> done(n_chains);
  std::atomic<std::size_t> n_ended{};
  for (std::size_t chain = 0; chain < n_chains; ++chain) {
    tasks[chain] = std::vector<RankedTask>(n_links);
    done[chain] = std::vector<WaitingTaskList>(n_links);
    for (std::size_t i = 0; i < n_links; ++i) {
      auto& task = tasks[chain][i];
      const auto rank = static_cast<Task::Rank>(i + 1);
      task.set_rank(rank);
      task.function = [&, chain, i, rank](ReadyTasks& ready) {
        if (i > 0) {
          wait_on_stack_for(tasks[chain][i - 1], done[chain][i - 1], rank, ready);
        }
        ++n_ended;
        done[chain][i].close(ready);
      };
    }
  }
  FunctionTask start;
  start.function = [&](ReadyTasks& ready) {
    for (auto& chain : tasks) {
      ready.push(chain.back());
    }
  };
  executor->run(start);
  EXPECT_EQ(n_ended, n_chains * n_links);
}

TEST_P(ExecutorTest, a_task_group_waits_for_its_functions_and_rethrows) {
  int n_waits = 0;
  std::atomic<int> n_calls{};
  std::string message;
  FunctionTask task;
  task.function = [&](ReadyTasks&) {
    TaskGroup group;
    for (int i = 0; i < 30; ++i) {
      group.run([&] { ++n_calls; });
    }
    group.wait();
    EXPECT_EQ(n_calls, 30);
    group.run([] { throw std::runtime_error{"one of them"}; });
    try {
      group.wait();
    } catch (const std::runtime_error& error) {
      message = error.what();
    }
    ++n_waits;
  };
  executor->run(task);
  EXPECT_EQ(n_waits, 1);
  EXPECT_EQ(message, "one of them");
}

std::vector<Kind> all_kinds() {
  std::vector<Kind> kinds{{"serial", [](std::size_t) { return make_serial_executor(); }, 1}};
  for (const std::size_t n_threads : {1, 2, 4, 7}) {
    kinds.push_back({"tbb", make_executor, n_threads});
    if (has_dispatch_executor()) {
      kinds.push_back({"dispatch", make_dispatch_executor, n_threads});
    }
  }
  return kinds;
}

std::string name_of(const ::testing::TestParamInfo<Kind>& kind) {
  return kind.param.name + "_" + std::to_string(kind.param.n_threads);
}

INSTANTIATE_TEST_SUITE_P(Kinds, ExecutorTest, ::testing::ValuesIn(all_kinds()), name_of);

/// Threads of which the second cannot be started.
class OneThread final : public ThreadSource {
 public:
  void start(std::size_t /*n*/, const std::function<void()>& body) override {
    thread_ = std::jthread{body};
    throw std::system_error{EAGAIN, std::generic_category()};
  }
  void join() override { thread_.join(); }

 private:
  std::jthread thread_;
};

TEST(TeamTest, a_thread_that_cannot_be_started_is_an_error_and_the_others_end) {
  EXPECT_THROW((Team{3, std::make_unique<OneThread>()}), std::system_error);
}

TEST(MissingExecutorTest, is_there_or_says_what_is_missing) {
  if (has_dispatch_executor()) {
    EXPECT_EQ(make_dispatch_executor(2)->n_threads(), 2U);
    EXPECT_THROW((void)make_dispatch_executor(257), std::runtime_error);
  } else {
    EXPECT_THROW((void)make_dispatch_executor(2), std::runtime_error);
  }
}

}  // namespace
}  // namespace forkrun
