#include <forkrun/core/run/lane_tasks.hpp>

#include <algorithm>
#include <utility>

namespace forkrun {

LaneTasks::LaneTasks(UnitTasks& shared, UnitSequence& units, Lane& lane, bool always_tasks)
    : shared_{shared},
      units_{units},
      graph_{shared.graph()},
      lane_{lane},
      // Without tasks no thread could go on when something outside has ended.
      always_tasks_{always_tasks || std::ranges::any_of(graph_.nodes, &Node::is_external)},
      has_spare_threads_{shared.n_lanes() < shared.executor().n_threads()},
      begin_{*this},
      course_{graph_, lane, shared.parallel(), LaneGuard{*this}} {
  for (std::uint32_t node = 0; node < graph_.nodes.size(); ++node) {
    const auto& entrance = shared.entrance(node);
    const bool waits =
        entrance.waits_to_commit || entrance.order != nullptr || !entrance.queues.empty();
    is_simple_.push_back(waits || graph_.nodes[node].may_wait ? 0 : 1);
  }
  if (std::ranges::count(is_simple_, 0) != 0) {
    make_tasks();
  }
}

// Blocks

void LaneTasks::begin_blocks(ReadyTasks& ready) {
  ready_ = &ready;
  while (enter_unit(ready)) {
    if (!run_blocks(*unit_, ready) || !leave_unit(ready)) {
      return;
    }
  }
}

/// False if tasks have taken over: another thread may be executing us now.
bool LaneTasks::run_blocks(UnitInFlight& unit, ReadyTasks& ready) {
  const auto lane = lane_.block().lane();
  for (auto number = unit.next_block(lane); number != UnitInFlight::no_block;
       number = unit.next_block(lane)) {
    load(number);
    if (lane_.expects()) {
      expect_next(unit);
    }
    course_.begin_block();
    if (begins_with_tasks(ready)) {
      take_over(ready);
      return false;
    }
    if (!course_.run_block()) {
      return false;
    }
    lane_.end_block();
    ready.note_progress(graph_.nodes.size());
  }
  return true;
}

/// False if there is none now: another thread may be executing us when there is.
bool LaneTasks::enter_unit(ReadyTasks& ready) {
  if (unit_ != nullptr) {  // The block before was ended by tasks.
    return true;
  }
  auto* const unit = units_.enter(begin_, ready);
  if (unit == nullptr) {
    return false;
  }
  unit_ = unit;
  return true;
}

/// False if there is something more urgent than the next unit.
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
    const auto* const behind = units_.find_ahead();
    next = behind == nullptr ? std::nullopt : behind->coming_block(number);
  }
  if (next) {
    lane_.expect(*next);
  }
}

/// Where there are more threads than blocks, long modules cannot wait for a thread to be idle: by
/// the time their own thread checks it is late.
bool LaneTasks::begins_with_tasks(ReadyTasks& ready) const {
  return always_tasks_ || (has_spare_threads_ && ready.sharing_pays());
}

void LaneTasks::end_block(ReadyTasks& ready) {
  lane_.end_block();
  ready.push(begin_);
}

// From calls to tasks

void LaneTasks::make_tasks() {
  nodes_ = std::vector<NodeTask>(graph_.nodes.size());
  gates_ = std::vector<GateTask>(graph_.gates.size());
  links_.resize(graph_.links.size());
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

void LaneTasks::take_over(ReadyTasks& ready) {
  if (nodes_.empty()) {
    make_tasks();
  }
  reset();
  note_called();
  if (lane_.is_open(0)) {
    open_gate(0, ready);
  } else {
    close_gate(0, ready);
  }
}

void LaneTasks::reset() {
  for (auto& node : nodes_) {
    node.done.reset();
    node.stage = Stage::idle;
    node.is_skipped = false;
  }
  for (const auto analyzer : graph_.analyzers) {
    nodes_[analyzer].expect(graph_.nodes[analyzer].gates.count);
  }
  n_outputs_begun_ = 0;
  // Relaxed, here and below: others learn of it with the tasks that are pushed later.
  n_path_ends_left_.store(shared_.n_path_ends(), std::memory_order_relaxed);
}

/// What the serial course has done is done.
void LaneTasks::note_called() {
  for (auto& node : nodes_) {
    if (course_.is_called(node.number)) {
      node.stage = Stage::called;
      node.done.set_done(node.number == failed_node_ ? not_made() : nullptr);
    }
  }
  failed_node_ = none;
  for (const auto number : calling_) {
    nodes_[number].stage = Stage::on_stack;
    nodes_[number].done.set_asked_for();
  }
  calling_.clear();
  while (n_outputs_begun_ < graph_.outputs.size() &&
         nodes_[graph_.outputs[n_outputs_begun_]].stage == Stage::called) {
    ++n_outputs_begun_;
  }
}

bool LaneTasks::begin_call(std::uint32_t node) {
  if (!try_enter(nodes_[node])) {
    return false;
  }
  if (graph_.nodes[node].may_wait) {
    calling_.push_back(node);
  }
  return true;
}

void LaneTasks::end_call(std::uint32_t node) {
  leave(nodes_[node]).push_to(*ready_);
  if (graph_.nodes[node].may_wait) {
    calling_.pop_back();
  }
}

bool LaneGuard::pass_by(std::uint32_t node) {
  auto& tasks = *tasks_;
  const auto& entrance = tasks.shared_.entrance(node);
  auto* const order = entrance.order;
  if (order == nullptr) {
    return true;
  }
  if (!tasks.has_turn(entrance)) {
    return false;
  }
  const auto sequence = tasks.lane_.block().sequence();
  if (!order->try_enter(sequence)) {
    return false;
  }
  if (auto* const next = order->leave(sequence)) {
    tasks.ready_->push(*next);
  }
  return true;
}

void LaneGuard::fail(std::uint32_t node, const std::exception_ptr& failure) {
  tasks_->note_failure(failure);
  tasks_->failed_node_ = node;
  leave(node);
}

void LaneGuard::take_over() { tasks_->take_over(*tasks_->ready_); }

void LaneGuard::end_called(std::uint32_t node, std::exception_ptr failure) {
  if (failure) {
    tasks_->note_failure(failure);
  }
  tasks_->end(tasks_->nodes_[node], std::move(failure), *tasks_->ready_);
}

void LaneGuard::wait_for(std::uint32_t asker, std::uint32_t product) {
  tasks_->wait_for(asker, product);
}

bool LaneGuard::ask_for(std::uint32_t asker, std::uint32_t product) {
  return tasks_->ask_for(asker, product);
}

void LaneGuard::check_made(std::uint32_t product) const { tasks_->check_made(product); }

// Gates and paths

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
  if (task.stage == Stage::called) {
    end_path(ready);
  } else if (task.stage == Stage::on_stack) {
    return;  // Its end will end its path.
  } else if (lane_.select(graph_.nodes[task.number])) {
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
  if (lane_.select(graph_.nodes[output.number])) {
    ask_for_inputs(output, ready);
  } else {
    ready.push(output);
  }
}

}  // namespace forkrun
