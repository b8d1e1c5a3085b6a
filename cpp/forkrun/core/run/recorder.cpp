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
}

}  // namespace

/// What one thread has noted.
struct Recorder::OfThread {
  std::vector<NodeStatistics> nodes;
  std::vector<Call> calls;
  std::map<Pair, Stall> stalls;  ///< by node and what it waited for
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
    auto part = std::make_unique<OfThread>();
    part->nodes.resize(n_nodes_);
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
  // Relaxed: the count alone matters.
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
  return of_this_thread().nodes[node].n_calls % 8 == 0;
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

}  // namespace forkrun
