#pragma once

#include <string>
#include <vector>

#include <forkrun/core/schedule/graph.hpp>
#include <forkrun/core/schedule/product_table.hpp>
#include <forkrun/core/schedule/schedule.hpp>

namespace forkrun {

/// The parts of a job, by number of the module.
struct JobDescription {
  std::vector<ModuleRecord> modules;
  ProductTable products;
  std::vector<PathDescription> paths;
  std::vector<OutputDescription> outputs;
};

/// All problems that keep the job from being compiled.
[[nodiscard]] std::vector<std::string> find_problems(const JobDescription& job);

/// Graph of a job without problems. It points to labels of `job.modules`, which must not move.
[[nodiscard]] Graph compile_graph(const JobDescription& job);

/// Part of it: finds the steps of gates, analyzers and outputs. `lazy`: nodes that modules may
/// request while they run.
void add_steps(Graph& graph, const std::vector<std::uint32_t>& lazy);

}  // namespace forkrun
