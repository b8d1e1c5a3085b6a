#include <forkrun/core/run/read_ahead.hpp>

#include <algorithm>
#include <system_error>
#include <utility>

#include <forkrun/concurrency/cpu_clock.hpp>
#include <forkrun/core/run/recorder.hpp>

namespace forkrun {

namespace {

std::vector<LumiSpan> spans_of(EntryRanges block, const BlockLumis& lumis) {
  std::vector<LumiSpan> spans;
  lumis.for_each(
      0, static_cast<std::size_t>(n_events_of(block)),
      [&spans](LumiId lumi, std::size_t, std::size_t last) { spans.push_back({lumi, last}); });
  return spans;
}

}  // namespace

ReadAheadLane::ReadAheadLane(Source& source) : columns_{source.columns()} {
  for (auto& turn : turns_) {
    turn.lane = source.make_lane();
  }
}

ReadAheadLane::~ReadAheadLane() {
  {
    const Lock lock{mutex_};
    is_over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

// Called by the thread that works on the loaded block

std::span<const std::uint64_t> ReadAheadLane::load(EntryRanges block, const BlockLumis& lumis) {
  Lock lock{mutex_};
  cost_ = {};
  usual_ = std::exchange(asked_, {});
  drop(loaded(), lock);
  if (other().expects(block)) {
    loaded_ = 1 - loaded_;
    auto& turn = loaded();
    turn.is_expected = false;
    if (turn.loading == State::to_do) {
      load_lane(turn, lock);
    }
    changed_.wait(lock, [&turn] { return turn.loading != State::taken; });
    if (turn.loading == State::done) {
      cost_ = turn.loading_cost;
      return turn.events;
    }
    drop(turn, lock);
  } else {
    drop(other(), lock);
    begin(loaded(), block);
  }
  auto& turn = loaded();
  lock.unlock();
  turn.events = turn.lane->load(block, lumis);
  lock.lock();
  turn.loading = State::done;
  changed_.notify_all();
  return turn.events;
}

void ReadAheadLane::read(std::size_t column, Column& into) {
  Lock lock{mutex_};
  asked_.push_back(column);
  cost_ = {};
  auto& turn = loaded();
  const auto found = std::ranges::find(turn.wanted, column, &WantedColumn::number);
  if (found == turn.wanted.end()) {
    lock.unlock();
    turn.lane->read(column, into);
    return;
  }
  while (found->state == State::taken) {
    if (auto* const meanwhile = next_column(turn)) {
      read_column(turn, *meanwhile, lock);
    } else {
      changed_.wait(lock);
    }
  }
  if (found->state == State::done) {
    std::swap(into, found->values);
    cost_ = found->cost;
    found->state = State::left;
    return;
  }
  found->state = State::left;
  lock.unlock();
  turn.lane->read(column, into);
}

void ReadAheadLane::expect(EntryRanges block, const BlockLumis& lumis) {
  Lock lock{mutex_};
  auto& turn = other();
  if (n_events_of(block) == 0 || turn.expects(block)) {
    return;
  }
  drop(turn, lock);
  begin(turn, block);
  turn.lumis = spans_of(block, lumis);
  turn.is_expected = true;
  start_thread();
  changed_.notify_all();
}

SourceLane& ReadAheadLane::of_block() {
  Lock lock{mutex_};
  drop(loaded(), lock);
  return *loaded().lane;
}

SourceLane::Statistics ReadAheadLane::statistics() const {
  const Lock lock{mutex_};
  auto all = turns_.at(loaded_).lane->statistics();
  return all += turns_.at(1 - loaded_).statistics;
}

/// With the columns requested last; their memory is reused.
void ReadAheadLane::begin(Turn& turn, EntryRanges block) {
  turn.block.assign(block.begin(), block.end());
  turn.loading = State::to_do;
  if (!std::ranges::equal(turn.wanted, usual_, {}, &WantedColumn::number)) {
    turn.wanted.clear();
    for (const auto column : usual_) {
      turn.wanted.push_back({column, State::to_do, Column{columns_[column].type}});
    }
  }
  for (auto& column : turn.wanted) {
    column.state = State::to_do;
  }
}

/// Ends the reading for this turn.
void ReadAheadLane::drop(Turn& turn, Lock& lock) {
  turn.is_expected = false;
  for (auto& column : turn.wanted) {
    if (column.state == State::to_do) {
      column.state = State::left;
    }
  }
  changed_.wait(lock, [this, &turn] { return busy_ != &turn; });
  turn.statistics = turn.lane->statistics();
}

void ReadAheadLane::start_thread() {
  if (thread_.joinable()) {
    return;
  }
  try {
    thread_ = std::thread{[this] { work(); }};
  } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): nothing is read ahead
  }
}

// On either thread

ReadAheadLane::WantedColumn* ReadAheadLane::next_column(Turn& turn) const {
  if (turn.loading != State::done) {
    return nullptr;
  }
  const auto found = std::ranges::find(turn.wanted, State::to_do, &WantedColumn::state);
  return found == turn.wanted.end() ? nullptr : &*found;
}

template <typename Body>
SourceLane::Cost ReadAheadLane::cost_of(Body body) const {
  const MeasuredInput measured;
  const auto begin_ns = Recorder::now_ns();
  const auto begin_cpu_ns = thread_cpu_ns();
  body();
  return {begin_ns, Recorder::now_ns() - begin_ns, thread_cpu_ns() - begin_cpu_ns, measured.costs(),
          std::this_thread::get_id() == thread_.get_id()};
}

void ReadAheadLane::load_lane(Turn& turn, Lock& lock) {
  turn.loading = State::taken;
  lock.unlock();
  auto state = State::left;
  std::span<const std::uint64_t> events;
  const auto cost = cost_of([&] {
    try {
      events = turn.lane->load(turn.block, BlockLumis{turn.lumis});
      state = State::done;
    } catch (...) {  // NOLINT(bugprone-empty-catch): the next reader of the block reports it
    }
  });
  lock.lock();
  turn.events = events;
  turn.loading_cost = cost;
  turn.loading = state;
  changed_.notify_all();
}

void ReadAheadLane::read_column(Turn& turn, WantedColumn& column, Lock& lock) {
  column.state = State::taken;
  lock.unlock();
  auto state = State::left;
  const auto cost = cost_of([&] {
    try {
      turn.lane->read(column.number, column.values);
      state = State::done;
    } catch (...) {  // NOLINT(bugprone-empty-catch): the next reader of the column reports it
    }
  });
  lock.lock();
  column.cost = cost;
  column.state = state;
  changed_.notify_all();
}

// On the thread

/// False if there is nothing to read now.
bool ReadAheadLane::do_next(Lock& lock) {
  if (auto* const column = next_column(loaded())) {
    busy_ = &loaded();
    read_column(loaded(), *column, lock);
  } else if (auto& turn = other(); !turn.is_expected) {
    return false;
  } else if (turn.loading == State::to_do) {
    busy_ = &turn;
    load_lane(turn, lock);
  } else if (auto* const ahead = next_column(turn)) {
    busy_ = &turn;
    read_column(turn, *ahead, lock);
  } else {
    return false;
  }
  busy_ = nullptr;
  changed_.notify_all();
  return true;
}

void ReadAheadLane::work() {
  Lock lock{mutex_};
  while (!is_over_) {
    if (!do_next(lock)) {
      changed_.wait(lock);
    }
  }
}

}  // namespace forkrun
