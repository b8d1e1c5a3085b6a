// LaneTasks: the stages of one node.

#include <utility>

#include <forkrun/concurrency/team.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/run/lane_tasks.hpp>

namespace forkrun {

/// Includes its inputs, on a list instead of the stack: chains of modules may be long.
void LaneTasks::ask_for_inputs(NodeTask& first, ReadyTasks& ready) {
  first.asked_before = nullptr;
  for (auto* last = &first; last != nullptr;) {
    auto& task = *last;
    last = ask_for_own_inputs(task, task.asked_before);
    if (task.arrive()) {
      ready.push(task);
    }
  }
}

/// Returns the list of nodes whose inputs are to be requested now: the first is the first input
/// that has not been requested, or `before`.
LaneTasks::NodeTask* LaneTasks::ask_for_own_inputs(NodeTask& task, NodeTask* before) {
  lane_.note_asked(task.number);
  const auto range = graph_.nodes[task.number].inputs;
  const auto waits_for = graph_.nodes[task.number].waits_for;
  // One for ourselves, so that it does not begin during the requests.
  task.expect(range.count + 1 + (waits_for == none ? 0 : 1));
  if (waits_for != none &&
      gates_[waits_for].done.add(task.union_link) == WaitingTaskList::Added::done) {
    (void)task.arrive();
  }
  for (auto link = range.first + range.count; link-- > range.first;) {
    auto& input = nodes_[graph_.links[link]];
    switch (input.done.add(links_[link])) {
      case WaitingTaskList::Added::first: input.asked_before = std::exchange(before, &input); break;
      case WaitingTaskList::Added::waiting: break;
      case WaitingTaskList::Added::done:
        (void)task.arrive();  // Not the last: ours is still to come.
        break;
    }
  }
  return before;
}

/// A waiting task may run on another thread before this returns: its state is set before, and it is
/// not touched after.
void LaneTasks::advance(NodeTask& task, ReadyTasks& ready) {
  // A node that is only passed by was not requested: its inputs may be in the making.
  const bool is_new = task.stage == Stage::idle && !task.is_skipped;
  if (is_new) {
    lane_.note_ready(task.number);
  }
  if (!enter(task)) {
    return;
  }
  if (is_new) {
    lane_.note_entered(task.number);
  }
  std::exception_ptr failure;
  if (!task.is_skipped) {
    const bool has_work_outside =
        graph_.nodes[task.number].is_external && task.stage == Stage::idle && !unit_->has_failed();
    if (has_work_outside && !(acquire(task, ready) && enter(task))) {
      return;
    }
    if (!call(task, failure)) {
      return;
    }
  }
  end(task, std::move(failure), ready);
}

bool LaneTasks::enter(NodeTask& task) {
  const auto& entrance = shared_.entrance(task.number);
  if (task.n_entered == 0 && !has_turn(entrance) && !enter_turn(task)) {
    return false;
  }
  const auto& [waits_to_commit, order, queues] = entrance;
  const auto n = task.is_skipped ? 1 : 1 + queues.size();
  while (task.n_entered < n) {
    const auto next = task.n_entered++;
    const bool is_in = next == 0 ? order == nullptr || order->enter(lane_.block().sequence(), task)
                                 : queues[next - 1]->enter(task);
    if (!is_in) {
      return false;
    }
  }
  return true;
}

/// False if its unit is not yet the committing one: the task runs again when it is.
bool LaneTasks::enter_turn(NodeTask& task) {
  task.expect(1);
  return unit_->committing().add(task.committing_link) == WaitingTaskList::Added::done;
}

TaskChain LaneTasks::leave(NodeTask& task) {
  const auto& [waits_to_commit, order, queues] = shared_.entrance(task.number);
  TaskChain next;
  while (task.n_entered > 0) {
    const auto last = --task.n_entered;
    if (last != 0) {
      next.add(queues[last - 1]->leave());
    } else if (order != nullptr) {
      next.add(order->leave(lane_.block().sequence()));
    }
  }
  return next;
}

/// True if there were any.
bool LaneTasks::leave_shared(NodeTask& task, ReadyTasks& ready) {
  const auto queues = shared_.entrance(task.number).queues;
  bool has_left = false;
  while (task.n_entered > 1 && queues[task.n_entered - 2]->is_shared()) {
    --task.n_entered;
    has_left = true;
    if (auto* const next = queues[task.n_entered - 1]->leave()) {
      ready.push(*next);
    }
  }
  return has_left;
}

namespace {

/// State of a module's `acquire` on this thread. When it throws, its work is destroyed during
/// unwinding, with a less useful message than the exception: so that message is kept until
/// `acquire` has ended.
struct Acquiring {
  const ExternalWaiter* waiter{};
  std::uint32_t node{};
  std::exception_ptr answered{};

  [[nodiscard]] bool is_for(const ExternalWaiter& other, std::uint32_t number) const {
    return waiter == &other && node == number;
  }
};
thread_local Acquiring acquiring;

}  // namespace

/// True if the answer has already come.
bool LaneTasks::acquire(NodeTask& task, ReadyTasks& ready) {
  task.stage = Stage::outside;
  task.expect(2);  // The answer, and the return of `acquire`.
  shared_.executor().expect_outside();
  acquiring = {this, task.number};
  std::exception_ptr failure;
  try {
    lane_.acquire(task.number, ExternalWork{*this, task.number});
  } catch (...) {
    failure = std::current_exception();
  }
  const auto answered = std::exchange(acquiring, {}).answered;
  if (failure || answered) {
    note_failure(failure ? failure : answered);
  }
  leave_shared(task, ready);
  return task.arrive();
}

void LaneTasks::end_external(std::uint32_t node, std::exception_ptr failure) noexcept {
  if (failure) {
    try {
      lane_.fail_external(node, failure);
    } catch (...) {
      if (acquiring.is_for(*this, node)) {
        acquiring.answered = std::current_exception();
      } else {
        note_failure(std::current_exception());
      }
    }
  }
  auto& executor = shared_.executor();
  if (nodes_[node].arrive()) {
    executor.submit(nodes_[node]);
  } else {
    executor.expect_no_more();
  }
}

/// False for a waiting coroutine: another thread may be running it now.
bool LaneTasks::call(NodeTask& task, std::exception_ptr& failure) {
  // A coroutine that has begun must reach its end.
  if (unit_->has_failed() && task.stage != Stage::waiting) {
    failure = not_made();
    return true;
  }
  try {
    return lane_.call(task.number, *this, shared_.parallel());
  } catch (...) {
    failure = lane_.failure_of(task.number);
    note_failure(failure);
    return true;
  }
}

void LaneTasks::note_failure(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const ProductNotMade&) {
    // passed over: an earlier failure was noted
  } catch (...) {
    unit_->fail(UnitInFlight::at_block(lane_.block().sequence()), failure);
  }
}

/// The next tasks may lead to the end of the block: this one is not touched after.
void LaneTasks::end(NodeTask& task, std::exception_ptr failure, ReadyTasks& ready) {
  auto next = leave(task);
  switch (graph_.nodes[task.number].kind) {
    case NodeKind::analyzer: end_path(ready); break;
    case NodeKind::output: begin_next_output(ready); break;
    default: task.done.close(ready, std::move(failure));
  }
  next.push_to(ready);  // Last, to be executed next: the queue is kept busy by this thread.
}

// Modules that ask

void LaneTasks::wait_for(std::uint32_t asker, std::uint32_t product) {
  auto& maker = nodes_[graph_.makers[product]];
  auto& ready = *ReadyTasks::of_this_thread();
  ReadyTasks::Wakeup wakeup{ready};
  wakeup.expect(1);
  WaitingTaskList::Link link{&wakeup, nullptr};
  switch (maker.done.add(link)) {
    case WaitingTaskList::Added::first: ask_for_inputs(maker, ready); [[fallthrough]];
    case WaitingTaskList::Added::waiting: ready.work_until(wakeup, nodes_[asker].rank()); break;
    case WaitingTaskList::Added::done: break;
  }
  check_made(product);
}

bool LaneTasks::ask_for(std::uint32_t asker, std::uint32_t product) {
  auto& task = nodes_[asker];
  auto& maker = nodes_[graph_.makers[product]];
  if (maker.done.is_done()) {
    return true;
  }
  auto& ready = *ReadyTasks::of_this_thread();
  const bool has_left = leave_shared(task, ready);
  task.stage = Stage::waiting;
  task.expect(1);
  switch (maker.done.add(ask_links_[asker])) {
    case WaitingTaskList::Added::first: ask_for_inputs(maker, ready); return false;
    case WaitingTaskList::Added::waiting: return false;
    case WaitingTaskList::Added::done: break;
  }
  if (has_left) {
    ready.push(task);  // Must enter again.
  }
  return !has_left;
}

void LaneTasks::check_made(std::uint32_t product) const {
  if (nodes_[graph_.makers[product]].done.failure()) {
    throw ProductNotMade{};
  }
}

}  // namespace forkrun
