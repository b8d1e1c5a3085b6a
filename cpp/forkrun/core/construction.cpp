#include <forkrun/core/construction.hpp>

#include <algorithm>
#include <utility>

#include <forkrun/core/errors.hpp>

namespace forkrun {

Histogram& ModuleConstruction::book(const std::string& name, const std::string& title,
                                    std::vector<Axis> axes) {
  auto& histograms = record_.histograms;
  if (std::ranges::find(histograms, name, &Histogram::name) != histograms.end()) {
    throw Error{"histogram \"" + name + "\" is booked twice"};
  }
  return histograms.emplace_back(name, title, std::move(axes));
}

}  // namespace forkrun
