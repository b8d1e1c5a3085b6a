#pragma once

#include <string>

#include <forkrun/core/block.hpp>
#include <forkrun/core/graph.hpp>

namespace forkrun {

/// Inside a catch block: throws what was caught once more, with `where: ` before its text. An
/// InputError or OutputError stays one, everything else becomes an Error.
[[noreturn]] void rethrow_with_context(const std::string& where);

/// `module "dimuon" failed at 1:5, events 100…199`
[[nodiscard]] std::string describe_failure(const Node& node, const EventBlock& block);

}  // namespace forkrun
