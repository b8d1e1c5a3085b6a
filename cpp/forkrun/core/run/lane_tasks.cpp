#include <forkrun/core/run/lane_tasks.hpp>

#include <algorithm>
#include <utility>

namespace forkrun {

LaneTasks::LaneTasks(UnitTasks& shared, UnitSequence& units, Lane& lane)
    : shared_{shared},
      units_{units},
      graph_{shared.graph()},
      lane_{lane},
      begin_{*this},
      nodes_(graph_.nodes.size()),
      gates_(graph_.gates.size()),
      links_(graph_.links.size()) {
  for (std::uint32_t number = 0; number < nodes_.size(); ++number) {
    nodes_[number].tasks = this;
    nodes_[number].number = number;
    const auto& node = graph_.nodes[number];
    nodes_[number].set_rank(node.may_wait && !node.is_coroutine ? number + 1 : 0);
  }
  for (std::uint32_t number = 0; number < gates_.size(); ++number) {
    gates_[number].tasks = this;
    gates_[number].number = number;
  }
  make_links();
}

void LaneTasks::make_links() {
  for (std::uint32_t number = 0; number < nodes_.size(); ++number) {
    const auto inputs = graph_.nodes[number].inputs;
    for (auto link = inputs.first; link < inputs.first + inputs.count; ++link) {
      links_[link].task = &nodes_[number];
    }
  }
  if (std::ranges::any_of(graph_.nodes, &Node::is_coroutine)) {
    ask_links_.resize(nodes_.size());
    for (std::size_t number = 0; number < nodes_.size(); ++number) {
      ask_links_[number].task = &nodes_[number];
    }
  }
}

// Blocks

void LaneTasks::begin_blocks(ReadyTasks& ready) {
  while (enter_unit(ready)) {
    if (begin_block(*unit_, ready) || !leave_unit(ready)) {
      return;
    }
  }
}

/// False if the unit has no more blocks for this lane; else another thread may be running this
/// task.
bool LaneTasks::begin_block(UnitInFlight& unit, ReadyTasks& ready) {
  const auto number = unit.next_block(lane_.block().lane());
  if (number == UnitInFlight::no_block) {
    return false;
  }
  load(number);
  if (lane_.expects()) {
    expect_next(unit);
  }
  reset();
  if (lane_.is_open(0)) {
    open_gate(0, ready);
  } else {
    close_gate(0, ready);
  }
  return true;
}

/// False if there is none now: another thread may run this task when there is.
bool LaneTasks::enter_unit(ReadyTasks& ready) {
  if (unit_ != nullptr) {  // Tasks have ended the previous block.
    return true;
  }
  auto* const unit = units_.enter(begin_, ready);
  if (unit == nullptr) {
    return false;
  }
  unit_ = unit;
  return true;
}

/// False if something is more urgent than the next unit.
bool LaneTasks::leave_unit(ReadyTasks& ready) {
  auto& unit = *std::exchange(unit_, nullptr);
  auto* const urgent = units_.leave(unit, lane_.take_share());
  if (urgent == nullptr) {
    return true;
  }
  ready.push(begin_);
  ready.push(*urgent);  // Last, to be executed next.
  return false;
}

void LaneTasks::load(std::uint32_t number) {
  if (unit_->has_failed()) {
    lane_.skip(unit_->block(number));
    return;
  }
  try {
    lane_.load(unit_->block(number));
  } catch (...) {
    unit_->fail(UnitInFlight::at_block(number), std::current_exception());
  }
}

/// Asks for the next unit where the loaded block is the last.
void LaneTasks::expect_next(const UnitInFlight& unit) {
  const auto number = lane_.block().lane();
  auto next = unit.coming_block(number);
  if (!next && !unit.has_failed()) {
    const auto* const following = units_.find_ahead();
    next = following == nullptr ? std::nullopt : following->coming_block(number);
  }
  if (next) {
    lane_.expect(*next);
  }
}

void LaneTasks::end_block(ReadyTasks& ready) {
  lane_.end_block();
  ready.push(begin_);
}

void LaneTasks::reset() {
  for (auto& node : nodes_) {
    node.done.reset();
    node.stage = Stage::idle;
    node.is_skipped = false;
  }
  for (auto number = graph_.first_union; number < gates_.size(); ++number) {
    gates_[number].expect(graph_.gates[number].parts.count);
    gates_[number].done.reset();
  }
  n_outputs_begun_ = 0;
  // Relaxed, here and below: tasks pushed later make it visible to others.
  n_path_ends_left_.store(shared_.n_path_ends(), std::memory_order_relaxed);
}

// Gates and paths

void LaneTasks::open_gate(std::uint32_t number, ReadyTasks& ready) {
  const auto& gate = graph_.gates[number];
  if (gate.is_end()) {
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
  end_gate(gate, ready);
}

void LaneTasks::close_gate(std::uint32_t number, ReadyTasks& ready) {
  const auto& gate = graph_.gates[number];
  if (gate.is_end()) {
    end_path(ready);
    return;
  }
  for (const auto child : graph_.at(gate.children)) {
    lane_.close(child);
    close_gate(child, ready);
  }
  end_gate(gate, ready);
}

void LaneTasks::try_gate(std::uint32_t number, ReadyTasks& ready) {
  if (lane_.pass(number)) {
    open_gate(number, ready);
  } else {
    close_gate(number, ready);
  }
}

/// If the block waits for nothing else, this may begin the next: nothing is touched after.
void LaneTasks::end_gate(const Gate& gate, ReadyTasks& ready) {
  for (const auto analyzer : graph_.at(gate.analyzers)) {
    begin_analyzer(nodes_[analyzer], ready);
  }
  for (const auto number : graph_.at(gate.unions)) {
    if (gates_[number].arrive()) {
      end_union(number, ready);
    }
  }
}

void LaneTasks::end_union(std::uint32_t number, ReadyTasks& ready) {
  lane_.unite(number);
  gates_[number].done.close(ready, nullptr);
  const auto& gate = graph_.gates[number];
  if (gate.is_end()) {
    end_path(ready);
  } else {
    end_gate(gate, ready);
  }
}

void LaneTasks::begin_analyzer(NodeTask& task, ReadyTasks& ready) {
  if (lane_.is_open(graph_.nodes[task.number].gate)) {
    ask_for_inputs(task, ready);
  } else {
    task.is_skipped = true;
    ready.push(task);
  }
}

void LaneTasks::end_path(ReadyTasks& ready) {
  if (n_path_ends_left_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    begin_next_output(ready);
  }
}

/// One output after another: they share the lane of the source, which serves one at a time.
void LaneTasks::begin_next_output(ReadyTasks& ready) {
  if (n_outputs_begun_ == graph_.outputs.size()) {
    end_block(ready);
    return;
  }
  auto& output = nodes_[graph_.outputs[n_outputs_begun_++]];
  if (lane_.is_open(graph_.nodes[output.number].gate)) {
    ask_for_inputs(output, ready);
  } else {
    ready.push(output);
  }
}

}  // namespace forkrun
