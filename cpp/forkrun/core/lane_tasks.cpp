#include <forkrun/core/lane_tasks.hpp>

namespace forkrun {

LaneTasks::LaneTasks(UnitTasks& unit, Lane& lane)
    : unit_{unit},
      graph_{unit.graph()},
      lane_{lane},
      begin_{*this},
      nodes_(graph_.nodes.size()),
      gates_(graph_.gates.size()),
      links_(graph_.links.size()) {
  for (std::uint32_t number = 0; number < nodes_.size(); ++number) {
    nodes_[number].tasks = this;
    nodes_[number].number = number;
    const auto inputs = graph_.nodes[number].inputs;
    for (auto link = inputs.first; link < inputs.first + inputs.count; ++link) {
      links_[link].task = &nodes_[number];
    }
  }
  for (std::uint32_t number = 0; number < gates_.size(); ++number) {
    gates_[number].tasks = this;
    gates_[number].number = number;
  }
}

void LaneTasks::begin_block(ReadyTasks& ready) {
  const auto block = unit_.next_block();
  if (!block) {
    return;
  }
  reset();
  load(*block);
  if (lane_.is_open(0)) {
    open_gate(0, ready);
  } else {
    close_gate(0, ready);
  }
}

void LaneTasks::reset() {
  for (auto& node : nodes_) {
    node.done.reset();
    node.stage = NodeTask::Stage::before_turn;
    node.is_skipped = false;
  }
  for (const auto analyzer : graph_.analyzers) {
    nodes_[analyzer].expect(graph_.nodes[analyzer].gates.count);
  }
  // Relaxed, here and below: others learn of it with the tasks that are pushed later.
  n_path_ends_left_.store(unit_.n_path_ends(), std::memory_order_relaxed);
}

void LaneTasks::load(const BlockToDo& block) {
  if (unit_.has_failed()) {
    lane_.skip(block);
    return;
  }
  try {
    lane_.load(block);
  } catch (...) {
    unit_.fail(block.sequence, std::current_exception());
  }
}

void LaneTasks::open_gate(std::uint32_t number, ReadyTasks& ready) {
  const auto& gate = graph_.gates[number];
  if (gate.children.count + gate.analyzers.count == 0) {
    end_path(ready);
    return;
  }
  for (const auto child : graph_.at(gate.children)) {
    auto& task = gates_[child];
    auto& filter = nodes_[graph_.gates[child].filter];
    task.expect(1);
    switch (filter.done.add(task.link)) {
      case WaitingTaskList::Added::first: ask_for_inputs(filter, ready); break;
      case WaitingTaskList::Added::waiting: break;
      case WaitingTaskList::Added::done: ready.push(task); break;
    }
  }
  decide_analyzers(gate, ready);
}

void LaneTasks::close_gate(std::uint32_t number, ReadyTasks& ready) {
  const auto& gate = graph_.gates[number];
  if (gate.children.count + gate.analyzers.count == 0) {
    end_path(ready);
    return;
  }
  for (const auto child : graph_.at(gate.children)) {
    lane_.close(child);
    close_gate(child, ready);
  }
  decide_analyzers(gate, ready);
}

void LaneTasks::try_gate(std::uint32_t number, ReadyTasks& ready) {
  if (lane_.pass(number)) {
    open_gate(number, ready);
  } else {
    close_gate(number, ready);
  }
}

void LaneTasks::decide_analyzers(const Gate& gate, ReadyTasks& ready) {
  for (const auto analyzer : graph_.at(gate.analyzers)) {
    if (nodes_[analyzer].arrive()) {
      begin_analyzer(nodes_[analyzer], ready);
    }
  }
}

void LaneTasks::begin_analyzer(NodeTask& task, ReadyTasks& ready) {
  if (lane_.select(graph_.nodes[task.number])) {
    ask_for_inputs(task, ready);
  } else {
    task.is_skipped = true;
    ready.push(task);
  }
}

void LaneTasks::ask_for_inputs(NodeTask& task, ReadyTasks& ready) {
  const auto range = graph_.nodes[task.number].inputs;
  task.expect(range.count + 1);  // One for ourselves, so that it does not begin while we ask.
  for (auto link = range.first; link < range.first + range.count; ++link) {
    auto& input = nodes_[graph_.links[link]];
    switch (input.done.add(links_[link])) {
      case WaitingTaskList::Added::first: ask_for_inputs(input, ready); break;
      case WaitingTaskList::Added::waiting: break;
      case WaitingTaskList::Added::done:
        (void)task.arrive();  // Not the last: ours is still to come.
        break;
    }
  }
  if (task.arrive()) {
    ready.push(task);
  }
}

namespace {

/// Leaves a queue that the task has passed, and lets the next one in.
template <typename... Number>
void leave(auto* queue, ReadyTasks& ready, Number... number) {
  if (queue == nullptr) {
    return;
  }
  if (auto* next = queue->leave(number...)) {
    ready.push(*next);
  }
}

}  // namespace

/// Where a task has to wait it may be executed by another thread before we are back: its stage is
/// set before, and it is not touched after.
void LaneTasks::advance(NodeTask& task, ReadyTasks& ready) {
  auto* const order = unit_.order(task.number);
  auto* const queue = task.is_skipped ? nullptr : unit_.queue(task.number);
  if (task.stage == NodeTask::Stage::before_turn) {
    task.stage = NodeTask::Stage::before_queue;
    if (order != nullptr && !order->enter(lane_.block().sequence(), task)) {
      return;
    }
  }
  if (task.stage == NodeTask::Stage::before_queue) {
    task.stage = NodeTask::Stage::running;
    if (queue != nullptr && !queue->enter(task)) {
      return;
    }
  }
  if (!task.is_skipped) {
    call(graph_.nodes[task.number]);
  }
  leave(queue, ready);
  leave(order, ready, lane_.block().sequence());
  end_node(task, ready);
}

void LaneTasks::call(const Node& node) {
  if (unit_.has_failed()) {
    return;
  }
  try {
    lane_.call(node, unit_.parallel());
  } catch (...) {
    unit_.fail(lane_.block().sequence(), std::current_exception());
  }
}

void LaneTasks::end_node(NodeTask& task, ReadyTasks& ready) {
  switch (graph_.nodes[task.number].kind) {
    case NodeKind::analyzer: end_path(ready); break;
    case NodeKind::output: begin_next_output(ready); break;
    default: task.done.close(ready);
  }
}

void LaneTasks::end_path(ReadyTasks& ready) {
  if (n_path_ends_left_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    begin_outputs(ready);
  }
}

/// One output after another: they share the lane of the source, which serves one at a time.
void LaneTasks::begin_outputs(ReadyTasks& ready) {
  n_outputs_begun_ = 0;
  begin_next_output(ready);
}

void LaneTasks::begin_next_output(ReadyTasks& ready) {
  if (n_outputs_begun_ == graph_.outputs.size()) {
    end_block(ready);
    return;
  }
  auto& output = nodes_[graph_.outputs[n_outputs_begun_++]];
  if (lane_.select(graph_.nodes[output.number])) {
    ask_for_inputs(output, ready);
  } else {
    ready.push(output);
  }
}

void LaneTasks::end_block(ReadyTasks& ready) {
  lane_.end_block();
  ready.push(begin_);
}

}  // namespace forkrun
