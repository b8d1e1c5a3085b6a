#include <forkrun/core/unit_tasks.hpp>

#include <algorithm>
#include <utility>

namespace forkrun {

namespace {

std::uint32_t count_path_ends(const Graph& graph) {
  auto n_ends = static_cast<std::uint32_t>(graph.analyzers.size());
  for (const auto& gate : graph.gates) {
    n_ends += gate.children.count + gate.analyzers.count == 0 ? 1 : 0;
  }
  return n_ends;
}

}  // namespace

UnitTasks::UnitTasks(const Graph& graph, std::size_t n_lanes, Executor& executor,
                     Parallel& parallel, StopOrder stop)
    : graph_{graph},
      executor_{executor},
      parallel_{parallel},
      n_lanes_{n_lanes},
      stop_{stop},
      n_path_ends_{count_path_ends(graph)},
      deal_{n_lanes, std::ranges::any_of(graph.nodes, &Node::in_order)} {
  for (const auto& description : graph.queues) {
    queues_.emplace_back(description);
  }
  std::size_t n_links = 0;
  for (const auto& node : graph.nodes) {
    n_links += node.queues.count;
  }
  queues_of_nodes_.reserve(n_links);  // Spans point into it.
  for (const auto& node : graph.nodes) {
    const auto first = queues_of_nodes_.size();
    for (const auto queue : graph.at(node.queues)) {
      queues_of_nodes_.push_back(&queues_[queue]);
    }
    auto* const order = node.in_order ? &orders_.emplace_back(n_lanes) : nullptr;
    entrances_.push_back({order, {queues_of_nodes_.data() + first, node.queues.count}});
  }
}

void UnitTasks::begin(const UnitOfWork& unit, std::span<const EntryRange> blocks) {
  lumi_ = unit.lumi;
  iov_ = unit.iov;
  blocks_ = blocks;
  deal_.begin(static_cast<std::uint32_t>(blocks.size()));
  has_failed_ = false;
  failure_ = nullptr;
  for (auto& order : orders_) {
    order.reset();
  }
}

void UnitTasks::fail(std::uint64_t sequence, std::exception_ptr failure) {
  const std::scoped_lock lock{failure_mutex_};
  if (!failure_ || sequence < failed_sequence_) {
    failed_sequence_ = sequence;
    failure_ = std::move(failure);
  }
  has_failed_ = true;
}

void UnitTasks::rethrow_failure() {
  if (failure_) {
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }
}

}  // namespace forkrun
