#include <forkrun/core/run/lane.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <forkrun/concurrency/cpu_clock.hpp>
#include <forkrun/core/data/counted.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/run/announcer.hpp>

namespace forkrun {

namespace {

std::string describe_ranges(LumiId lumi, EntryRanges ranges) {
  const auto& [file, first, last] = ranges.front();
  const auto n_more = ranges.size() - 1;
  return text_of(lumi) + ", entries " + std::to_string(first) + "…" + std::to_string(last - 1) +
         " of file " + std::to_string(file) +
         (n_more == 0 ? "" : " and " + counted(n_more, "more range") + " of entries");
}

}  // namespace

Lane::Lane(const Graph& graph, std::size_t number, std::unique_ptr<SourceLane> source,
           LaneStatus status, Announcer& announcer, Recorder* recorder)
    : graph_{graph},
      source_{std::move(source)},
      status_{status},
      products_{graph},
      block_{products_.products(), source_.get()},
      is_open_(graph.gates.size()),
      masks_{graph.n_masks},
      callees_{make_callees(graph, number)},
      coroutines_{graph},
      pieces_{make_pieces(graph)},
      announcer_{announcer},
      recorder_{recorder},
      times_(recorder == nullptr ? 0 : graph.nodes.size()) {
  block_.lane_ = number;
  block_.graph_ = &graph;
}

void Lane::add_to_digest() {
  const auto events = block_.events();
  block_.lumis().for_each(0, events.size(), [&](LumiId lumi, std::size_t first, std::size_t last) {
    digest_.add(lumi, events.subspan(first, last - first));
  });
}

void Lane::fail_load() {
  is_open_[0] = 0;
  rethrow_with_context("reading failed at " +
                       describe_ranges(block_.lumis().first(), block_.ranges_));
}

/// `block`: argument of the module's call.
void Lane::fail_call(std::uint32_t node, const EventBlock& block) const {
  try {
    throw;
  } catch (const ProductNotMade&) {
    throw;  // The module that failed has reported it.
  } catch (const FailedPiece& piece) {
    std::rethrow_exception(piece.failure);
  } catch (...) {
    const auto& failed = graph_.nodes[node];
    const auto what = describe_failure(failed, block);
    if (failed.kind == NodeKind::source_column || failed.kind == NodeKind::output) {
      rethrow_with_context(what);
    }
    rethrow_of_module(what);
  }
}

std::exception_ptr Lane::failure_of(std::uint32_t node) const noexcept {
  try {
    fail_call(node, block_);
  } catch (...) {
    return std::current_exception();
  }
}

void Lane::skip(const BlockToDo& block) {
  begin(block);
  is_open_[0] = 0;
}

namespace {

/// Sets how the running module requests products; restores the previous way at the end.
class CallMark {
 public:
  explicit CallMark(const ModuleCall& call)
      : before_{std::exchange(ModuleCall::of_this_thread(), call)} {}
  CallMark(const CallMark&) = delete;
  CallMark& operator=(const CallMark&) = delete;
  ~CallMark() { ModuleCall::of_this_thread() = before_; }

 private:
  ModuleCall before_;
};

/// For modules that request products made before their call.
class AllMade final : public ProductFetcher {
  void wait_for(std::uint32_t /*asker*/, std::uint32_t /*product*/) override {}
  [[nodiscard]] bool ask_for(std::uint32_t /*asker*/, std::uint32_t /*product*/) override {
    return true;
  }
  void check_made(std::uint32_t /*product*/) const override {}
};

}  // namespace

Recorder::Call Lane::begun_call(std::uint32_t node) const {
  const auto lumi = block_.lumis().first();
  return {node,
          static_cast<std::uint32_t>(block_.lane()),
          lumi.run,
          lumi.lumi,
          block_.sequence(),
          Recorder::now_ns(),
          0};
}

std::span<const std::uint64_t> Lane::load_recorded() {
  const MeasuredInput measured;
  const Recorder::Doing doing{*recorder_, Activity::Kind::unpacking};
  auto call = begun_call(recorder_->loading());
  const auto events = source_->load(block_.ranges_, block_.lumis_);
  call.end_ns = Recorder::now_ns();
  auto costs = measured.costs();
  if (const auto earlier = source_->cost_elsewhere(); earlier.wall_ns > 0) {
    doing.end_waiting(call.start_ns, call.end_ns);
    recorder_->note_earlier(earlier);
    call.start_ns -= earlier.wall_ns;
    costs = earlier.input;
  } else {
    doing.end(call.start_ns, call.end_ns, costs.in_all().read_ns);
  }
  recorder_->note_loading(call, costs);
  return events;
}

namespace {

Activity::Kind activity_of(CalleeKind kind) {
  switch (kind) {
    case CalleeKind::source_column: return Activity::Kind::unpacking;
    case CalleeKind::output: return Activity::Kind::committing;
    default: return Activity::Kind::processing;
  }
}

}  // namespace

/// A column that was read ahead has taken its time then.
void Lane::note_column(Recorder::Call& call, std::int64_t& cpu_ns, const InputCosts& costs,
                       const Recorder::Doing& doing) {
  const auto earlier = source_->cost_elsewhere();
  if (earlier.wall_ns == 0) {
    recorder_->note_input(call.node, costs);
    return doing.end(call.start_ns, call.end_ns, costs.in_all().read_ns);
  }
  doing.end_waiting(call.start_ns, call.end_ns);
  recorder_->note_earlier(earlier);
  recorder_->note_input(call.node, earlier.input);
  call.start_ns -= earlier.wall_ns;
  cpu_ns += cpu_ns < 0 ? 0 : earlier.cpu_ns;
}

bool Lane::call_recorded(std::uint32_t node, ProductFetcher& fetcher, Parallel& parallel) {
  recorder_->note_begin(node);
  const auto kind = callees_[node].kind;
  const bool wants_cpu = recorder_->wants_cpu_time(node);
  std::optional<MeasuredInput> measured;
  if (kind == CalleeKind::source_column) {
    measured.emplace();
  }
  const Recorder::Doing doing{*recorder_, activity_of(kind)};
  auto call = begun_call(node);
  const auto cpu_start_ns = wants_cpu ? thread_cpu_ns() : 0;
  const bool has_ended = call_unrecorded(node, fetcher, parallel);
  auto cpu_ns = wants_cpu ? thread_cpu_ns() - cpu_start_ns : -1;
  call.end_ns = Recorder::now_ns();
  if (measured) {
    note_column(call, cpu_ns, measured->costs(), doing);
  } else {
    doing.end(call.start_ns, call.end_ns);
  }
  if (has_ended) {  // Else another thread may be running it.
    times_[node].end_ns = call.end_ns;
  }
  recorder_->note(call, cpu_ns, has_ended);
  return has_ended;
}

/// The input made last is the one that the node has waited for.
void Lane::record_wait(std::uint32_t node) {
  auto& times = times_[node];
  if (times.asked_ns == 0) {  // An output of no events.
    times.ready_ns = 0;
    return;
  }
  std::uint32_t last_input = none;
  std::int64_t last_ns = 0;
  for (const auto input : graph_.at(graph_.nodes[node].inputs)) {
    if (times_[input].end_ns > last_ns) {
      last_ns = times_[input].end_ns;
      last_input = input;
    }
  }
  recorder_->note_wait(node, last_input, times.ready_ns - times.asked_ns,
                       Recorder::now_ns() - times.ready_ns);
  times.ready_ns = times.asked_ns = 0;
}

/// `block`: the loaded block, or a part of it whose first event is number `first`.
void Lane::call_module(const Callee& callee, const EventBlock& block, std::size_t first) {
  switch (callee.node_kind) {
    case NodeKind::filter: call_filter(callee, block, first); break;
    case NodeKind::analyzer:
      static_cast<Analyzer*>(callee.module)
          ->analyze(block, masks_[callee.mask].subspan(first, block.n_events()));
      break;
    default:
      forget_columns(callee, block);
      call_producer(callee, block, first);
      check_columns(callee, block);
  }
}

void Lane::call_producer(const Callee& callee, const EventBlock& block, std::size_t first) {
  auto& producer = *static_cast<Producer*>(callee.module);
  if (callee.left == 0) {
    producer.produce(block);
  } else {
    producer.produce_left(block, left_for(callee, block, first));
  }
}

/// Calls a module that sees one lumi at a time.
void Lane::call_cut(std::uint32_t node) {
  const auto& callee = callees_[node];
  if (callee.node_kind == NodeKind::filter) {
    masks_.accept_all(callee.mask);
  }
  if (block_.lumis().is_one()) {
    call_piece(node, block_, 0);
  } else {
    call_pieces(node);
  }
  if (callee.node_kind == NodeKind::filter) {
    masks_.normalise(callee.mask);
  }
}

void Lane::call_pieces(std::uint32_t node) {
  const auto& callee = callees_[node];
  auto& pieces = *pieces_[node];
  forget_columns(callee, block_);
  pieces.begin(block_);
  while (pieces.next(block_)) {
    if (callee.node_kind != NodeKind::analyzer || has_selected(callee.mask, pieces)) {
      call_piece(node, pieces.piece(), pieces.first());
      pieces.join(block_);
    }
  }
}

bool Lane::has_selected(std::uint32_t mask, const LumiPieces& pieces) const {
  const auto selected = masks_[mask].subspan(pieces.first(), pieces.piece().n_events());
  return std::ranges::find(selected, 1) != selected.end();
}

void Lane::call_piece(std::uint32_t node, const EventBlock& piece, std::size_t first) {
  try {
    announcer_.advance(graph_.nodes[node].module, first_event_ + first);
  } catch (...) {  // The message has the place.
    throw FailedPiece{std::current_exception()};
  }
  try {
    call_module(callees_[node], piece, first);
  } catch (...) {
    try {
      fail_call(node, piece);
    } catch (...) {
      throw FailedPiece{std::current_exception()};
    }
  }
}

bool Lane::call_other(std::uint32_t node, ProductFetcher& fetcher, Parallel& parallel) {
  const auto& callee = callees_[node];
  switch (callee.kind) {
    case CalleeKind::producer:
    case CalleeKind::analyzer: call_module(callee, block_, 0); break;
    case CalleeKind::cut: call_cut(node); break;
    case CalleeKind::source_column:
      source_->read(callee.source_column, block_.mutable_column(graph_.at(callee.columns)[0]));
      break;
    case CalleeKind::output:
      static_cast<OutputModule*>(callee.module)->write(block_, masks_[callee.mask], parallel);
      break;
    case CalleeKind::asking: call_asking(node, fetcher); break;
    case CalleeKind::coroutine: return call_coroutine(node, fetcher);
    case CalleeKind::plain_producer:
    case CalleeKind::filter: break;  // Not called here.
  }
  return true;
}

void Lane::call_asking(std::uint32_t node, ProductFetcher& fetcher) {
  AllMade all_made;
  auto& used = graph_.nodes[node].may_wait ? fetcher : all_made;
  const CallMark mark{{&used, node, graph_.nodes[node].module, &block_}};
  const auto& callee = callees_[node];
  if (callee.node_kind != NodeKind::filter) {
    call_module(callee, block_, 0);
    return;
  }
  masks_.accept_all(callee.mask);
  call_module(callee, block_, 0);
  masks_.normalise(callee.mask);
}

bool Lane::call_coroutine(std::uint32_t node, ProductFetcher& fetcher) {
  const auto& callee = callees_[node];
  auto& coroutine = coroutines_[node];
  const bool is_filter = callee.node_kind == NodeKind::filter;
  if (!coroutines_.has_begun(node)) {
    coroutines_.offer_frame(node);
    if (is_filter) {
      coroutine =
          static_cast<CoroutineFilter*>(callee.module)->filter(block_, begin_filter(callee));
    } else {
      forget_columns(callee, block_);
      coroutine = static_cast<CoroutineProducer*>(callee.module)->produce(block_);
    }
    if (!coroutine.is_valid()) {
      throw Error{
          "it returned an empty Coroutine: produce() or filter() of a coroutine module has "
          "to be one, with co_await or co_return in it"};
    }
    coroutine.belongs_to({&fetcher, node, graph_.nodes[node].module, &block_});
    coroutines_.has_begun(node) = true;
  }
  if (!coroutine.resume()) {
    return false;
  }
  coroutines_.has_begun(node) = false;
  coroutine.end();
  if (is_filter) {
    masks_.normalise(callee.mask);
  } else {
    check_columns(callee, block_);
  }
  return true;
}

void Lane::acquire(std::uint32_t node, ExternalWork work) {
  try {
    callees_[node].external()->acquire(block_, std::move(work));
  } catch (...) {
    fail_call(node, block_);
  }
}

void Lane::fail_external(std::uint32_t node, const std::exception_ptr& failure) const {
  try {
    std::rethrow_exception(failure);
  } catch (...) {
    fail_call(node, block_);
  }
}

void Lane::forget_columns(const Callee& callee, const EventBlock& block) const {
  for (const auto product : graph_.at(callee.columns)) {
    block.mutable_column(product).forget();
  }
}

namespace {

/// A column of the wrong size would make readers run beyond its end.
void check_column(const Column& column, const std::string& name, std::size_t n_events) {
  if (column.n_events() != n_events) {
    throw Error{"product \"" + name + "\" was filled for " + counted(column.n_events(), "event") +
                " of a block of " + std::to_string(n_events)};
  }
  const auto type = column.type();
  auto n_below = static_cast<std::int64_t>(column.n_values() / type.n_in_item());
  for (auto level = type.n_levels(); level-- > 0;) {
    const auto offsets = column.offsets(level);
    if (offsets.front() != 0 || offsets.back() != n_below) {
      throw Error{"product \"" + name + "\" has offsets from " + std::to_string(offsets.front()) +
                  " to " + std::to_string(offsets.back()) + ", but " + std::to_string(n_below) +
                  (level + 1 == type.n_levels() ? " values" : " lists")};
    }
    n_below = static_cast<std::int64_t>(column.n_lists(level));
  }
}

}  // namespace

void Lane::check_columns(const Callee& callee, const EventBlock& block) const {
  for (const auto product : graph_.at(callee.columns)) {
    check_column(block.column(product), graph_.products[product].name, block.n_events());
  }
}

void Lane::close(std::uint32_t gate) {
  is_open_[gate] = 0;
  if (graph_.gates[gate].parent != 0) {  // Else the mask is the filter's, of a block of no events.
    masks_.accept_none(graph_.gates[gate].mask);
  }
}

void Lane::unite(std::uint32_t number) {
  const auto& gate = graph_.gates[number];
  masks_.accept_none(gate.mask);
  is_open_[number] = 0;
  for (const auto part : graph_.at(gate.parts)) {
    if (is_open(part)) {
      is_open_[number] = 1;
      masks_.add(gate.mask, graph_.gates[part].mask);
    }
  }
}

Lane::Share Lane::take_share() {
  status_.report();
  const auto now = source_->statistics();
  const auto before = std::exchange(taken_, now);
  return {std::exchange(digest_, {}), now - before, n_column_bytes()};
}

std::size_t Lane::n_column_bytes() const {
  std::size_t n_bytes = 0;
  for (const auto& callee : callees_) {
    for (const auto product : graph_.at(callee.columns)) {
      n_bytes += block_.column(product).n_bytes();
    }
  }
  return n_bytes;
}

}  // namespace forkrun
