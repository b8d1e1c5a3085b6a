#include <forkrun/core/run/unit_sequence.hpp>

#include <algorithm>
#include <iterator>
#include <ranges>
#include <utility>

namespace forkrun {

UnitSequence::UnitSequence(UnitTasks& tasks, UnitLimits limits) : tasks_{tasks}, limits_{limits} {
  // At least two: the next unit is known before one has ended.
  for (std::size_t i = 0; i < std::max<std::size_t>(limits.units, 2); ++i) {
    free_.push_back(std::make_unique<UnitInFlight>(tasks.n_lanes(), tasks.is_in_order()));
  }
  const auto& graph = tasks.graph();
  const auto transitions = graph.at(graph.transition_queues);
  const auto outputs = graph.at(graph.output_queues);
  std::vector<std::uint32_t> all;
  std::ranges::set_union(transitions, outputs, std::back_inserter(all));
  const auto find = [&tasks](std::uint32_t number) { return &tasks.queue(number); };
  std::ranges::transform(transitions, std::back_inserter(transition_queues_), find);
  std::ranges::transform(outputs, std::back_inserter(output_queues_), find);
  std::ranges::transform(all, std::back_inserter(all_queues_), find);
}

Task* UnitSequence::start(UnitSteps& steps, const std::vector<Task*>& lanes) {
  steps_ = &steps;
  failure_ = nullptr;
  stage_ = Stage::begin;
  Lock lock{mutex_};
  idle_ = lanes;
  is_over_ = false;
  is_between_ = true;
  ask(lock);
  return known_.empty() ? nullptr : &between_;
}

void UnitSequence::rethrow_failure() {
  if (failure_) {
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }
}

// Lanes

UnitInFlight* UnitSequence::enter(Task& lane, ReadyTasks& ready) {
  Lock lock{mutex_};
  while (true) {
    if (auto* const unit = find_unit()) {
      ++unit->n_lanes_inside;
      return unit;
    }
    if (!may_ask()) {
      idle_.push_back(&lane);
      return nullptr;
    }
    ask(lock);
    wake_lanes(ready);
    if (std::exchange(waits_for_answer_, false)) {
      ready.push(lane);
      ready.push(between_);  // Last, to be executed next.
      return nullptr;
    }
  }
}

const UnitInFlight* UnitSequence::find_ahead() {
  Lock lock{mutex_};
  if (find_unit() == nullptr && may_ask()) {
    ask(lock);
  }
  return find_unit();
}

Task* UnitSequence::leave(UnitInFlight& unit, const Lane::Share& share) {
  const Lock lock{mutex_};
  unit.add(share);
  --unit.n_lanes_inside;
  if (!is_at_end()) {
    return nullptr;
  }
  is_between_ = true;
  stage_ = Stage::know_next;
  return &between_;
}

/// The first unit with blocks left, among the units that may be in flight.
UnitInFlight* UnitSequence::find_unit() const {
  std::size_t n_iovs = 1;
  for (std::size_t i = 0; i < std::min(known_.size(), limits_.units); ++i) {
    const auto& unit = *known_[i];
    n_iovs += i > 0 && unit.unit().iov != known_[i - 1]->unit().iov ? 1 : 0;
    const bool is_apart = i > 0 && (unit.is_alone() || known_[i - 1]->is_alone());
    if (n_iovs > limits_.iovs || is_apart) {
      return nullptr;
    }
    if (!known_[i]->is_dealt()) {
      return known_[i].get();
    }
  }
  return nullptr;
}

bool UnitSequence::may_ask() const {
  return !is_over_ && !is_asking_ && known_.size() < limits_.units &&
         std::ranges::all_of(
             known_,
             [](const auto& unit) {
               return unit->is_dealt() && !unit->has_failed() && !unit->is_alone();
             });
}

/// The lock is released meanwhile.
void UnitSequence::ask(Lock& lock) {
  is_asking_ = true;
  auto unit = std::move(free_.back());
  free_.pop_back();
  lock.unlock();
  const bool found = steps_->take(*unit);
  lock.lock();
  is_asking_ = false;
  is_over_ = is_over_ || !found;
  if (is_over_) {  // A unit given after the request to end is dropped.
    free_.push_back(std::move(unit));
  } else {
    known_.push_back(std::move(unit));
  }
}

bool UnitSequence::is_at_end() const {
  return !is_between_ && !known_.empty() && known_.front()->is_dealt() &&
         known_.front()->n_lanes_inside == 0;
}

/// One lane for each block that may be left; without blocks one lane, to ask for the next unit.
void UnitSequence::wake_lanes(ReadyTasks& ready) {
  const auto* const unit = find_unit();
  std::size_t n_wanted = unit != nullptr ? unit->n_blocks() : may_ask() ? 1 : 0;
  for (; n_wanted > 0 && !idle_.empty(); --n_wanted) {
    ready.push(*idle_.back());
    idle_.pop_back();
  }
}

// Between units

void UnitSequence::proceed(ReadyTasks& ready) {
  while (enter_queues() && do_stage(ready)) {
    ready.share();  // The next steps may take long.
  }
}

/// False if the task must wait: another thread may be running it now.
bool UnitSequence::enter_queues() {
  const auto& wanted = queues();
  while (n_entered_ < wanted.size()) {
    if (!wanted[n_entered_++]->enter(between_)) {
      return false;
    }
  }
  return true;
}

void UnitSequence::leave_queues(ReadyTasks& ready) {
  TaskChain next;
  for (const auto& entered = queues(); n_entered_ > 0;) {
    next.add(entered[--n_entered_]->leave());
  }
  next.push_to(ready);
}

const std::vector<ModuleQueue*>& UnitSequence::queues() const {
  switch (stage_) {
    case Stage::end: return transition_queues_;
    case Stage::close: return output_queues_;
    case Stage::begin: return all_queues_;
    default: return no_queues_;
  }
}

/// False if there is nothing more to do now: another thread may be running the task already.
bool UnitSequence::do_stage(ReadyTasks& ready) {
  switch (stage_) {
    case Stage::know_next: return know_next(ready);
    case Stage::end: end_unit(); break;
    case Stage::close: steps_->close(*current_, tasks_.parallel()); break;
    case Stage::commit: steps_->commit(*current_); break;
    case Stage::advance: return advance(ready);
    case Stage::begin: begin_unit(ready); break;
    case Stage::resume_waiting: return resume_waiting(ready);
  }
  leave_queues(ready);
  stage_ = static_cast<Stage>(static_cast<std::uint8_t>(stage_) + 1);
  return true;
}

/// False if another lane is asking: the lane with the answer has this task run again.
bool UnitSequence::is_next_known(Lock& lock, ReadyTasks& ready) {
  if (known_.size() > 1 || is_over_ || current_->has_failed()) {
    return true;
  }
  if (is_asking_) {
    waits_for_answer_ = true;
    return false;
  }
  ask(lock);
  wake_lanes(ready);
  return true;
}

bool UnitSequence::know_next(ReadyTasks& ready) {
  Lock lock{mutex_};
  current_ = known_.front().get();
  if (steps_->must_know_next() && !is_next_known(lock, ready)) {
    return false;
  }
  stage_ = Stage::end;
  return true;
}

void UnitSequence::end_unit() {
  const UnitInFlight* next = nullptr;
  {
    const Lock lock{mutex_};
    next = known_.size() < 2 ? nullptr : known_[1].get();
  }
  steps_->end(*current_, next);
}

/// False if that was the last one, or another lane is asking for the next.
bool UnitSequence::advance(ReadyTasks& ready) {
  Lock lock{mutex_};
  if (current_->has_failed() || steps_->is_stopped()) {
    failure_ = failure_ ? failure_ : current_->failure();
    is_over_ = true;
    std::ranges::for_each(known_ | std::views::drop(1), [](auto& unit) { unit->drop(); });
  }
  if (!is_next_known(lock, ready)) {
    return false;
  }
  free_.push_back(std::move(known_.front()));
  known_.pop_front();
  stage_ = Stage::begin;
  return !known_.empty();
}

void UnitSequence::begin_unit(ReadyTasks& ready) {
  {
    const Lock lock{mutex_};
    current_ = known_.front().get();
    wake_lanes(ready);
  }
  ready.share();
  steps_->begin(*current_);
}

/// False if the unit has blocks.
bool UnitSequence::resume_waiting(ReadyTasks& ready) {
  tasks_.reset_orders();
  current_->committing().close(ready);
  const Lock lock{mutex_};
  wake_lanes(ready);
  is_between_ = false;
  is_between_ = is_at_end();
  stage_ = Stage::know_next;
  return is_between_;
}

}  // namespace forkrun
