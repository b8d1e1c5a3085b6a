#include <forkrun/core/run/describe_failure.hpp>

namespace forkrun {

std::string text_of(LumiId lumi) {
  return std::to_string(lumi.run) + ":" + std::to_string(lumi.lumi);
}

namespace {

/// `1:5, events 100…199`, or `1:5:100…1:7:20` if they are of several lumis.
std::string describe_events(const EventBlock& block) {
  const auto events = block.events();
  const auto first = text_of(block.lumis().first());
  if (events.empty()) {
    return first + ", no events";
  }
  if (events.size() == 1) {
    return first + ", event " + std::to_string(events.front());
  }
  if (block.lumis().is_one()) {
    return first + ", events " + std::to_string(events.front()) + "…" +
           std::to_string(events.back());
  }
  return first + ":" + std::to_string(events.front()) + "…" +
         text_of(block.lumi_of(events.size() - 1)) + ":" + std::to_string(events.back());
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
  return describe_node(node) + " failed at " + describe_events(block);
}

}  // namespace forkrun
