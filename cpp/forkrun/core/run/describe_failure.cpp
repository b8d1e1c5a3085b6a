#include <forkrun/core/run/describe_failure.hpp>

namespace forkrun {

namespace {

std::string describe_events(const EventBlock& block) {
  const auto events = block.events();
  if (events.empty()) {
    return "no events";
  }
  if (events.size() == 1) {
    return "event " + std::to_string(events.front());
  }
  return "events " + std::to_string(events.front()) + "…" + std::to_string(events.back());
}

std::string describe_node(const Node& node) {
  switch (node.kind) {
    case NodeKind::source_column: return "reading column \"" + *node.name + "\"";
    case NodeKind::output: return "output \"" + *node.name + "\"";
    default: return "module \"" + *node.name + "\"";
  }
}

}  // namespace

std::string describe_failure(const Node& node, const EventBlock& block) {
  return describe_node(node) + " failed at " + std::to_string(block.lumi().run) + ":" +
         std::to_string(block.lumi().lumi) + ", " + describe_events(block);
}

}  // namespace forkrun
