#include <forkrun/core/run/callee.hpp>

namespace forkrun {

namespace {

CalleeKind kind_of(const Node& node) {
  if (node.is_coroutine) {
    return CalleeKind::coroutine;
  }
  if (node.is_cut) {
    return CalleeKind::cut;
  }
  if (node.kind == NodeKind::producer && !node.asks && node.columns.count == 0) {
    return CalleeKind::plain_producer;
  }
  return node.asks ? CalleeKind::asking : static_cast<CalleeKind>(node.kind);
}

static_assert(static_cast<int>(CalleeKind::output) == static_cast<int>(NodeKind::output));

Module* module_of(const Node& node, std::size_t lane) {
  if (node.record == nullptr) {
    return nullptr;
  }
  const auto& record = *node.record;
  const bool has_own = lane != 0 && record.instances == Instances::per_block;
  return has_own ? record.clones[lane - 1].get() : record.module.get();
}

}  // namespace

std::vector<Callee> make_callees(const Graph& graph, std::size_t lane) {
  std::vector<Callee> callees;
  callees.reserve(graph.nodes.size());
  for (const auto& node : graph.nodes) {
    callees.push_back({module_of(node, lane), node.columns, node.mask, node.left,
                       node.source_column, kind_of(node), node.kind});
  }
  return callees;
}

Coroutines::Coroutines(const Graph& graph) : place_of_(graph.nodes.size()) {
  std::uint32_t n_places = 0;
  for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
    place_of_[node] = n_places;
    n_places += graph.nodes[node].is_coroutine ? 1 : 0;
  }
  places_ = std::vector<Place>(n_places);
}

}  // namespace forkrun
