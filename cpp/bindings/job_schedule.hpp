#pragma once

#include <memory>
#include <string>
#include <vector>

#include <forkrun/core/schedule/schedule.hpp>
#include <forkrun/root_io/write/tree_output.hpp>

namespace forkrun::bindings {

/// A schedule with the outputs in it that want to know the source.
struct JobSchedule {
  std::unique_ptr<Schedule> schedule;
  std::vector<root_io::TreeOutput*> outputs;  ///< owned by the schedule
};

}  // namespace forkrun::bindings
