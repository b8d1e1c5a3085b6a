#include <forkrun/core/schedule/construction.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

#include <forkrun/core/data/errors.hpp>

namespace forkrun {

const ModuleConstruction::Open& ModuleConstruction::open() const {
  if (is_over_) {
    throw Error{
        "module \"" + label_ +
        "\" uses its Construction after its constructor: parameters are read, and products, "
        "histograms, accumulators and conditions declared, in the constructor alone"};
  }
  return open_;
}

/// Of a column that nothing replaces, the version before any replacement is the column itself.
std::string ModuleConstruction::version(const std::map<std::string, std::string>& versions,
                                        const std::string& name) {
  constexpr std::string_view at_input = "@input";
  const auto found = versions.find(name);
  if (found != versions.end()) {
    return found->second;
  }
  return name.ends_with(at_input) ? name.substr(0, name.size() - at_input.size()) : name;
}

void ModuleConstruction::set_limit(std::uint32_t n_blocks) {
  if (n_blocks == 0) {
    throw Error{"at least one block at a time must be allowed"};
  }
  open().record.wanted_concurrency = Concurrency::limited;
  open().record.limit = n_blocks;
}

void ModuleConstruction::keep_histogram(std::unique_ptr<Histogram> histogram) {
  auto& histograms = open().record.histograms;
  const auto has_name = [&](const auto& other) { return other->name() == histogram->name(); };
  if (std::ranges::any_of(histograms, has_name)) {
    throw Error{"histogram \"" + histogram->name() + "\" is booked twice"};
  }
  histograms.push_back(std::move(histogram));
}

void ModuleConstruction::keep_accumulator(std::unique_ptr<Accumulator> accumulator) {
  auto& accumulators = open().record.accumulators;
  const auto has_name = [&](const auto& other) { return other->name() == accumulator->name(); };
  if (std::ranges::any_of(accumulators, has_name)) {
    throw Error{"accumulator \"" + accumulator->name() + "\" is declared twice"};
  }
  accumulators.push_back(std::move(accumulator));
}

}  // namespace forkrun
