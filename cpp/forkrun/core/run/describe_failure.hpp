#pragma once

#include <string>

#include <forkrun/core/module/block.hpp>
#include <forkrun/core/schedule/graph.hpp>

namespace forkrun {

/// `1:5`.
[[nodiscard]] std::string text_of(LumiId lumi);

/// `module "dimuon" failed at 1:5, events 100…199`
[[nodiscard]] std::string describe_failure(const Node& node, const EventBlock& block);

}  // namespace forkrun
