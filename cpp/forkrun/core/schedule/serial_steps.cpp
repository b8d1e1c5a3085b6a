#include <algorithm>
#include <set>

#include <forkrun/core/schedule/compile_graph.hpp>

namespace forkrun {

namespace {

using Nodes = std::set<std::uint32_t>;  // In an order in which makers come before consumers.

class StepFinder {
 public:
  StepFinder(Graph& graph, const std::vector<std::uint32_t>& lazy);
  void find();

 private:
  void add_needed(std::uint32_t node, Nodes& needed) const;
  LinkRange add(std::uint32_t target, const Nodes& certain);
  [[nodiscard]] Nodes certain_behind_any(LinkRange gates) const;

  Graph& graph_;
  Nodes lazy_;                    ///< what modules may ask for, with all that it needs
  std::vector<Nodes> certain_;    ///< by gate: certainly called when it is open
  std::vector<std::size_t> met_;  ///< by node: its first step + 1; 0: none
};

StepFinder::StepFinder(Graph& graph, const std::vector<std::uint32_t>& lazy)
    : graph_{graph}, certain_(graph.gates.size()), met_(graph.nodes.size()) {
  for (const auto node : lazy) {
    add_needed(node, lazy_);
  }
}

void StepFinder::find() {
  for (std::uint32_t number = 1; number < graph_.gates.size(); ++number) {
    auto& gate = graph_.gates[number];
    certain_[number] = certain_[gate.parent];
    gate.steps = add(gate.filter, certain_[gate.parent]);
    for (const auto& step : graph_.steps_at(gate.steps)) {
      certain_[number].insert(step.node);
    }
  }
  for (const auto* targets : {&graph_.analyzers, &graph_.outputs}) {
    for (const auto number : *targets) {
      auto& node = graph_.nodes[number];
      node.steps = add(number, certain_behind_any(node.gates));
    }
  }
}

void StepFinder::add_needed(std::uint32_t node, Nodes& needed) const {
  if (needed.insert(node).second) {
    for (const auto input : graph_.at(graph_.nodes[node].inputs)) {
      add_needed(input, needed);
    }
  }
}

LinkRange StepFinder::add(std::uint32_t target, const Nodes& certain) {
  Nodes needed;
  add_needed(target, needed);
  LinkRange range{static_cast<std::uint32_t>(graph_.steps.size()), 0};
  for (const auto node : needed) {
    if (certain.contains(node)) {
      continue;
    }
    const bool is_lazy = lazy_.contains(node);
    const bool was_met = met_[node] != 0;
    if (was_met) {
      graph_.steps[met_[node] - 1].is_noted = true;
    }
    graph_.steps.push_back({node, was_met || is_lazy, was_met || is_lazy});
    met_[node] = was_met ? met_[node] : graph_.steps.size();
  }
  range.count = static_cast<std::uint32_t>(graph_.steps.size()) - range.first;
  return range;
}

/// Some of them is open, it is not known which.
Nodes StepFinder::certain_behind_any(LinkRange gates) const {
  const auto numbers = graph_.at(gates);
  auto certain = certain_[numbers[0]];
  for (const auto gate : numbers.subspan(1)) {
    std::erase_if(certain, [&](auto node) { return !certain_[gate].contains(node); });
  }
  return certain;
}

}  // namespace

void add_steps(Graph& graph, const std::vector<std::uint32_t>& lazy) {
  StepFinder{graph, lazy}.find();
  for (auto& step : graph.steps) {
    const auto& node = graph.nodes[step.node];
    const bool is_plain_producer = node.kind == NodeKind::producer && node.columns.count == 0 &&
                                   !node.asks && !node.is_coroutine;
    step.is_plain = is_plain_producer && !step.may_be_called && !step.is_noted;
  }
}

}  // namespace forkrun
