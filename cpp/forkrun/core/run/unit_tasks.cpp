#include <forkrun/core/run/unit_tasks.hpp>

namespace forkrun {

namespace {

std::uint32_t count_path_ends(const Graph& graph) {
  auto n_ends = static_cast<std::uint32_t>(graph.analyzers.size());
  for (const auto& gate : graph.gates) {
    n_ends += gate.is_end() ? 1 : 0;
  }
  return n_ends;
}

}  // namespace

UnitTasks::UnitTasks(const Graph& graph, std::size_t n_lanes, Executor& executor,
                     Parallel& parallel)
    : graph_{graph},
      executor_{executor},
      parallel_{parallel},
      n_lanes_{n_lanes},
      n_path_ends_{count_path_ends(graph)} {
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
    entrances_.push_back(
        {node.waits_to_commit, order, {queues_of_nodes_.data() + first, node.queues.count}});
  }
}

void UnitTasks::reset_orders() {
  for (auto& order : orders_) {
    order.reset();
  }
}

}  // namespace forkrun
