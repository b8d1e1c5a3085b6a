#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <forkrun/core/schedule/compile_graph.hpp>

namespace forkrun {

namespace {

using Numbers = std::vector<std::uint32_t>;

/// The gates below each gate, including itself, as a range of numbers: gates in the order of a walk
/// through their tree.
class GateTree {
 public:
  explicit GateTree(const Graph& graph) : first_(graph.gates.size()), last_(graph.gates.size(), 1) {
    const auto& gates = graph.gates;
    for (auto gate = gates.size() - 1; gate > 0; --gate) {  // Children before parents.
      last_[gates[gate].parent] += last_[gate];
    }
    Numbers next(gates.size(), 1);  // For each gate: the begin of its next child.
    for (std::size_t gate = 0; gate < gates.size(); ++gate) {
      if (gate != 0) {
        const auto parent = gates[gate].parent;
        first_[gate] = std::exchange(next[parent], next[parent] + last_[gate]);
        next[gate] = first_[gate] + 1;
      }
    }
    for (std::size_t gate = 0; gate < gates.size(); ++gate) {
      last_[gate] += first_[gate];
    }
  }
  [[nodiscard]] std::uint32_t first(std::uint32_t gate) const { return first_[gate]; }
  [[nodiscard]] std::uint32_t last(std::uint32_t gate) const { return last_[gate]; }  ///< + 1

 private:
  Numbers first_;
  Numbers last_;  ///< until the end of the constructor: how many
};

/// The calls that are certain when a gate is open: the steps of the gates on the way to it. A node
/// is kept with the gates whose steps it is among, none of which is below another, so that one look
/// for the last that begins before a gate is enough.
class CertainCalls {
 public:
  explicit CertainCalls(const Graph& graph) : tree_{graph}, gates_(graph.nodes.size()) {}

  void add(std::uint32_t node, std::uint32_t gate) {
    gates_[node].emplace(tree_.first(gate), tree_.last(gate));
  }
  [[nodiscard]] bool has(std::uint32_t node, std::uint32_t gate) const {
    const auto next = gates_[node].upper_bound(tree_.first(gate));
    return next != gates_[node].begin() && tree_.first(gate) < std::prev(next)->second;
  }
  /// One of the gates is open, it is not known which.
  [[nodiscard]] bool has(std::uint32_t node, std::span<const std::uint32_t> gates) const {
    return std::ranges::all_of(gates, [&](auto gate) { return has(node, gate); });
  }

 private:
  GateTree tree_;
  std::vector<std::map<std::uint32_t, std::uint32_t>> gates_;  ///< by node: first, last
};

class StepFinder {
 public:
  StepFinder(Graph& graph, const Numbers& lazy);
  void find();

 private:
  template <typename IsCertain>
  Numbers find_needed(const Numbers& targets, const IsCertain& is_certain);
  LinkRange add(std::uint32_t target, std::span<const std::uint32_t> gates);
  void add_step(std::uint32_t node);

  Graph& graph_;
  CertainCalls certain_;
  std::vector<bool> is_lazy_;      ///< by node: modules may ask for it, or for what needs it
  std::vector<std::size_t> met_;   ///< by node: its first step + 1; 0: none
  std::vector<std::size_t> seen_;  ///< by node: the last search that has seen it
  std::size_t n_searches_{};
};

StepFinder::StepFinder(Graph& graph, const Numbers& lazy)
    : graph_{graph},
      certain_{graph},
      is_lazy_(graph.nodes.size()),
      met_(graph.nodes.size()),
      seen_(graph.nodes.size()) {
  for (const auto node : find_needed(lazy, [](std::uint32_t) { return false; })) {
    is_lazy_[node] = true;
  }
}

void StepFinder::find() {
  for (const auto number : graph_.gate_order) {
    auto& gate = graph_.gates[number];
    if (gate.filter == none) {
      continue;
    }
    gate.steps = add(gate.filter, {&gate.parent, 1});
    for (const auto& step : graph_.steps_at(gate.steps)) {
      certain_.add(step.node, number);
    }
  }
  for (const auto* targets : {&graph_.analyzers, &graph_.outputs}) {
    for (const auto number : *targets) {
      auto& node = graph_.nodes[number];
      const auto parts = graph_.at(graph_.gates[node.gate].parts);
      node.steps = add(number, parts.empty() ? std::span{&node.gate, 1} : parts);
    }
  }
}

/// The targets with all that they need, in an order in which makers come before consumers. What is
/// certain is left out, and was made with all that it needs itself.
template <typename IsCertain>
Numbers StepFinder::find_needed(const Numbers& targets, const IsCertain& is_certain) {
  ++n_searches_;
  Numbers needed;
  const auto need = [&](std::uint32_t node) {
    if (seen_[node] != n_searches_ && !is_certain(node)) {
      seen_[node] = n_searches_;
      needed.push_back(node);
    }
  };
  std::ranges::for_each(targets, need);
  for (std::size_t i = 0; i < needed.size(); ++i) {
    std::ranges::for_each(graph_.at(graph_.nodes[needed[i]].inputs), need);
  }
  std::ranges::sort(needed);
  return needed;
}

/// `gates`: of which one is open when the target is called.
LinkRange StepFinder::add(std::uint32_t target, std::span<const std::uint32_t> gates) {
  const auto first = static_cast<std::uint32_t>(graph_.steps.size());
  const auto is_certain = [&](std::uint32_t node) { return certain_.has(node, gates); };
  for (const auto node : find_needed({target}, is_certain)) {
    add_step(node);
  }
  return {first, static_cast<std::uint32_t>(graph_.steps.size()) - first};
}

void StepFinder::add_step(std::uint32_t node) {
  const bool was_met = met_[node] != 0;
  if (was_met) {
    graph_.steps[met_[node] - 1].is_noted = true;
  }
  const bool may_be_called = was_met || is_lazy_[node];
  graph_.steps.push_back({node, may_be_called, may_be_called});
  met_[node] = was_met ? met_[node] : graph_.steps.size();
}

}  // namespace

void add_steps(Graph& graph, const std::vector<std::uint32_t>& lazy) {
  StepFinder{graph, lazy}.find();
  for (auto& step : graph.steps) {
    const auto& node = graph.nodes[step.node];
    const bool is_plain_producer = node.kind == NodeKind::producer && node.columns.count == 0 &&
                                   !node.asks && !node.is_coroutine && !node.is_cut;
    step.is_plain = is_plain_producer && !step.may_be_called && !step.is_noted;
  }
}

}  // namespace forkrun
