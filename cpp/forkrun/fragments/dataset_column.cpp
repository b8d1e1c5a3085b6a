#include <forkrun/fragments/dataset_column.hpp>

#include <algorithm>
#include <utility>

namespace forkrun {

DatasetColumn::DatasetColumn(Construction& construction, const std::string& name,
                             std::vector<std::int32_t> of_file)
    : column_{construction.produces_scalar<std::int32_t>(name)}, of_file_{std::move(of_file)} {}

/// All events of a block are of one dataset.
void DatasetColumn::produce(const EventBlock& block) {
  std::ranges::fill(block.make(column_), of_file_.at(block.ranges().front().file));
}

}  // namespace forkrun
