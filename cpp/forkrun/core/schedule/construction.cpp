#include <forkrun/core/schedule/construction.hpp>

#include <algorithm>
#include <utility>

#include <forkrun/core/data/errors.hpp>

namespace forkrun {

const ModuleConstruction::Open& ModuleConstruction::open() const {
  if (is_over_) {
    throw Error{
        "module \"" + label_ +
        "\" uses its Construction after its constructor: parameters are read, and products, "
        "histograms and conditions declared, in the constructor alone"};
  }
  return open_;
}

void ModuleConstruction::set_limit(std::uint32_t n_blocks) {
  if (n_blocks == 0) {
    throw Error{"at least one block at a time must be allowed"};
  }
  open().record.wanted_concurrency = Concurrency::limited;
  open().record.limit = n_blocks;
}

Histogram& ModuleConstruction::book(const std::string& name, const std::string& title,
                                    std::vector<Axis> axes) {
  auto& histograms = open().record.histograms;
  if (std::ranges::find(histograms, name, &Histogram::name) != histograms.end()) {
    throw Error{"histogram \"" + name + "\" is booked twice"};
  }
  return histograms.emplace_back(name, title, std::move(axes));
}

}  // namespace forkrun
