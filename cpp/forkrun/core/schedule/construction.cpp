#include <forkrun/core/schedule/construction.hpp>

#include <algorithm>
#include <utility>

#include <forkrun/core/data/errors.hpp>

namespace forkrun {

void ModuleConstruction::set_limit(std::uint32_t n_blocks) {
  if (n_blocks == 0) {
    throw Error{"at least one block at a time must be allowed"};
  }
  record_.wished_concurrency = Concurrency::limited;
  record_.limit = n_blocks;
}

Histogram& ModuleConstruction::book(const std::string& name, const std::string& title,
                                    std::vector<Axis> axes) {
  auto& histograms = record_.histograms;
  if (std::ranges::find(histograms, name, &Histogram::name) != histograms.end()) {
    throw Error{"histogram \"" + name + "\" is booked twice"};
  }
  return histograms.emplace_back(name, title, std::move(axes));
}

}  // namespace forkrun
