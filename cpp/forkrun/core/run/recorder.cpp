#include <forkrun/core/run/recorder.hpp>

#include <time.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <utility>

namespace forkrun {

namespace {

std::atomic<std::uint64_t> n_recorders{};

using Pair = std::pair<std::uint32_t, std::uint32_t>;

void add(Recorder::NodeStatistics& sum, const Recorder::NodeStatistics& part) {
  sum.n_calls += part.n_calls;
  sum.total_ns += part.total_ns;
  sum.longest_ns = std::max(sum.longest_ns, part.longest_ns);
  sum.n_cpu_calls += part.n_cpu_calls;
  sum.cpu_ns += part.cpu_ns;
  sum.cpu_wall_ns += part.cpu_wall_ns;
  sum.wait_inputs_ns += part.wait_inputs_ns;
  sum.wait_queue_ns += part.wait_queue_ns;
  if (!part.bins.empty()) {
    sum.bins.resize(std::max(sum.bins.size(), part.bins.size()));
    std::ranges::transform(part.bins, sum.bins, sum.bins.begin(), std::plus<>{});
  }
  sum.input += part.input;
  sum.shared_ns += part.shared_ns;
}

constexpr int nothing = -1;

}  // namespace

void Activity::spread(Kind kind, std::int64_t start_ns, std::int64_t end_ns, std::int64_t sign) {
  const auto begin = std::max<std::int64_t>(start_ns - origin_ns_, 0);
  const auto end = end_ns - origin_ns_;
  if (end <= begin) {
    return;
  }
  while (static_cast<std::size_t>((end - 1) >> length_bits_) >= most_pieces) {
    halve(pieces_);
    ++length_bits_;
  }
  const auto first = begin >> length_bits_, last = (end - 1) >> length_bits_;
  if (static_cast<std::size_t>(last) >= pieces_.size()) {
    pieces_.resize(static_cast<std::size_t>(last) + 1);
  }
  for (auto at = first; at <= last; ++at) {
    const auto from = std::max(begin, at << length_bits_);
    const auto to = std::min(end, (at + 1) << length_bits_);
    pieces_[static_cast<std::size_t>(at)][static_cast<std::size_t>(kind)] += sign * (to - from);
  }
}

void Activity::halve(std::vector<Piece>& pieces) {
  const auto n = pieces.size();
  for (std::size_t at = 0; at < n; ++at) {
    auto& into = pieces[at / 2];
    const auto from = pieces[at];
    for (std::size_t kind = 0; kind < n_kinds; ++kind) {
      into[kind] = from[kind] + (at % 2 == 0 ? 0 : into[kind]);
    }
  }
  pieces.resize((n + 1) / 2);
}

std::vector<Activity::Piece> Activity::pieces(unsigned length_bits) const {
  auto pieces = pieces_;
  for (auto bits = length_bits_; bits < length_bits; ++bits) {
    halve(pieces);
  }
  return pieces;
}

/// Record of one thread.
struct Recorder::OfThread {
  OfThread(std::size_t n_nodes, std::int64_t origin_ns)
      : nodes(n_nodes), activity{origin_ns}, ahead{origin_ns} {}

  std::vector<NodeStatistics> nodes;
  std::vector<Call> calls;
  std::map<Pair, Stall> stalls;  ///< by node and the node it waited for
  Loading loading;
  Activity activity;
  Activity ahead;  ///< activity of its read-ahead thread
  int doing = nothing;
};

Recorder::Recorder(std::size_t n_nodes, std::size_t n_trace_calls, OnCall on_call)
    : n_nodes_{n_nodes},
      on_call_{std::move(on_call)},
      number_{++n_recorders},
      n_trace_left_{static_cast<std::int64_t>(n_trace_calls)} {}

Recorder::~Recorder() = default;

std::int64_t Recorder::now_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

thread_local Recorder::Part Recorder::mine_{};

Recorder::Part Recorder::part_of_this_thread() { return mine_; }
void Recorder::set_part_of_this_thread(Part part) { mine_ = part; }

Recorder::OfThread& Recorder::of_this_thread() {
  if (mine_.recorder != number_) {
    auto part = std::make_unique<OfThread>(n_nodes_, origin_ns_);
    mine_ = {number_, part.get()};
    const std::scoped_lock lock{mutex_};
    threads_.push_back(std::move(part));
  }
  return *mine_.notes;
}

void Recorder::note(const Call& call, std::int64_t cpu_ns, bool has_ended) noexcept {
  auto& mine = of_this_thread();
  auto& node = mine.nodes[call.node];
  const auto time_ns = call.end_ns - call.start_ns;
  node.n_calls += has_ended ? 1 : 0;
  node.total_ns += time_ns;
  node.longest_ns = std::max(node.longest_ns, time_ns);
  if (cpu_ns >= 0) {
    ++node.n_cpu_calls;
    node.cpu_ns += cpu_ns;
    node.cpu_wall_ns += time_ns;
  }
  const auto bin = bin_of(time_ns);
  if (bin >= node.bins.size()) {
    node.bins.resize(bin + 1);
  }
  ++node.bins[bin];
  // Relaxed: only the count matters.
  if (n_trace_left_.load(std::memory_order_relaxed) > 0 &&
      n_trace_left_.fetch_sub(1, std::memory_order_relaxed) > 0) {
    mine.calls.push_back(call);
  } else {
    n_not_traced_.fetch_add(1, std::memory_order_relaxed);
  }
  if (has_ended && on_call_) {
    on_call_(call.node, true);
  }
}

void Recorder::trace_other(OfThread& mine, const Call& call) noexcept {
  if (n_others_left_.load(std::memory_order_relaxed) > 0 &&
      n_others_left_.fetch_sub(1, std::memory_order_relaxed) > 0) {
    mine.calls.push_back(call);
  }
}

void Recorder::note_input(std::uint32_t column, const InputCosts& costs) noexcept {
  auto& mine = of_this_thread();
  mine.nodes[column].input += costs.own;
  mine.nodes[column].shared_ns += costs.common_ns;
  mine.loading.input += costs.common;
  mine.loading.total_ns += costs.common_ns;
}

void Recorder::note_loading(const Call& call, const InputCosts& costs) noexcept {
  auto& mine = of_this_thread();
  ++mine.loading.n_calls;
  mine.loading.total_ns += call.end_ns - call.start_ns;
  mine.loading.input += costs.in_all();
  trace_other(mine, call);
}

void Recorder::note_committing(const Call& call) noexcept { trace_other(of_this_thread(), call); }

void Recorder::note_earlier(const SourceLane::Cost& cost) noexcept {
  auto& mine = of_this_thread();
  auto& activity = cost.is_ahead ? mine.ahead : mine.activity;
  const auto end_ns = cost.start_ns + cost.wall_ns;
  const auto read_ns = cost.start_ns + std::min(cost.input.in_all().read_ns, cost.wall_ns);
  activity.add(Activity::Kind::reading, cost.start_ns, read_ns);
  activity.add(Activity::Kind::unpacking, read_ns, end_ns);
}

Recorder::Doing::Doing(Recorder& recorder, Activity::Kind kind)
    : thread_{recorder.of_this_thread()},
      kind_{kind},
      within_{std::exchange(thread_.doing, static_cast<int>(kind))} {}

Recorder::Doing::~Doing() { thread_.doing = within_; }

void Recorder::Doing::end(std::int64_t start_ns, std::int64_t end_ns,
                          std::int64_t reading_ns) const {
  const auto read_ns = start_ns + std::min(reading_ns, end_ns - start_ns);
  thread_.activity.add(Activity::Kind::reading, start_ns, read_ns);
  thread_.activity.add(kind_, read_ns, end_ns);
  end_waiting(start_ns, end_ns);
}

void Recorder::Doing::end_waiting(std::int64_t start_ns, std::int64_t end_ns) const {
  if (within_ != nothing) {
    thread_.activity.take_away(static_cast<Activity::Kind>(within_), start_ns, end_ns);
  }
}

void Recorder::note_wait(std::uint32_t node, std::uint32_t last_input, std::int64_t inputs_ns,
                         std::int64_t queue_ns) noexcept {
  auto& mine = of_this_thread();
  mine.nodes[node].wait_inputs_ns += inputs_ns;
  mine.nodes[node].wait_queue_ns += queue_ns;
  auto& stall = mine.stalls[{node, last_input}];
  stall.node = node;
  stall.waited_for = last_input;
  ++stall.count;
  stall.total_ns += inputs_ns;
}

bool Recorder::wants_cpu_time(std::uint32_t node) noexcept {
  constexpr std::int64_t long_ns = 50'000;  // asking twice takes 1 % of it
  const auto& known = of_this_thread().nodes[node];
  const auto n_calls = static_cast<std::int64_t>(known.n_calls);
  return n_calls % 8 == 0 || known.total_ns > long_ns * n_calls;
}

std::size_t Recorder::bin_of(std::int64_t time_ns) noexcept {
  const auto time = static_cast<std::uint64_t>(std::max<std::int64_t>(time_ns, 8));
  const auto exponent = static_cast<std::size_t>(std::bit_width(time)) - 4;  // 8 … 15 ns: 0
  const auto bin = 8 * exponent + ((time >> exponent) & 7U);
  return std::min(bin, n_bins - 1);
}

double Recorder::bin_start_ns(std::size_t bin) noexcept {
  return std::ldexp(8.0 + static_cast<double>(bin % 8), static_cast<int>(bin / 8));
}

std::vector<Recorder::NodeStatistics> Recorder::statistics() const {
  const std::scoped_lock lock{mutex_};
  std::vector<NodeStatistics> all(n_nodes_);
  for (const auto& thread : threads_) {
    for (std::size_t node = 0; node < n_nodes_; ++node) {
      add(all[node], thread->nodes[node]);
    }
  }
  return all;
}

std::vector<std::uint64_t> Recorder::n_calls() const {
  const std::scoped_lock lock{mutex_};
  std::vector<std::uint64_t> all(n_nodes_);
  for (const auto& thread : threads_) {
    for (std::size_t node = 0; node < n_nodes_; ++node) {
      all[node] += thread->nodes[node].n_calls;
    }
  }
  return all;
}

std::vector<Recorder::Stall> Recorder::stalls() const {
  const std::scoped_lock lock{mutex_};
  std::map<Pair, Stall> all;
  for (const auto& thread : threads_) {
    for (const auto& [pair, stall] : thread->stalls) {
      auto& sum = all[pair];
      sum.node = stall.node;
      sum.waited_for = stall.waited_for;
      sum.count += stall.count;
      sum.total_ns += stall.total_ns;
    }
  }
  std::vector<Stall> list;
  for (const auto& [pair, stall] : all) {
    list.push_back(stall);
  }
  return list;
}

std::vector<Recorder::TracedCall> Recorder::trace() const {
  const std::scoped_lock lock{mutex_};
  std::vector<TracedCall> all;
  for (std::uint32_t thread = 0; thread < threads_.size(); ++thread) {
    for (const auto& call : threads_[thread]->calls) {
      all.push_back({thread, call});
    }
  }
  return all;
}

std::uint64_t Recorder::n_not_traced() const { return n_not_traced_; }

Recorder::Loading Recorder::loading_statistics() const {
  const std::scoped_lock lock{mutex_};
  Loading all;
  for (const auto& thread : threads_) {
    all.n_calls += thread->loading.n_calls;
    all.total_ns += thread->loading.total_ns;
    all.input += thread->loading.input;
  }
  return all;
}

Recorder::Course Recorder::course() const {
  const std::scoped_lock lock{mutex_};
  auto bits = Activity::first_length_bits;
  for (const auto& thread : threads_) {
    bits = std::max({bits, thread->activity.length_bits(), thread->ahead.length_bits()});
  }
  Course course{origin_ns_, std::int64_t{1} << bits, {}};
  for (std::size_t number = 0; number < threads_.size(); ++number) {
    const auto& thread = *threads_[number];
    course.threads.push_back({"thread " + std::to_string(number), thread.activity.pieces(bits)});
    if (auto ahead = thread.ahead.pieces(bits); !ahead.empty()) {
      course.threads.push_back({"reads ahead", std::move(ahead)});
    }
  }
  return course;
}

}  // namespace forkrun
