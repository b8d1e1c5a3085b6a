#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <forkrun/core/module/module.hpp>

namespace forkrun {

/// Makes a column with the number of each event's dataset.
class DatasetColumn final : public Producer {
 public:
  /// `of_file`: dataset number of each file of the input.
  DatasetColumn(Construction& construction, const std::string& name,
                std::vector<std::int32_t> of_file);
  void produce(const EventBlock& block) override;

 private:
  ScalarOutput<std::int32_t> column_;
  std::vector<std::int32_t> of_file_;
};

}  // namespace forkrun
