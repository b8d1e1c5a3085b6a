// Example of modules with random numbers; configs/smearing.py has the same in Python.

#include <algorithm>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/module.hpp>

namespace {

using forkrun::Construction;
using forkrun::EventBlock;

template <typename T>
std::span<T> resized(forkrun::Column& column, std::size_t n_values) {
  return {reinterpret_cast<T*>(column.resize_values(n_values)), n_values};
}

/// SmearedMuon_pt : (n_events, n) float32 [GeV], Muon_pt times a normal number of mean 1 and
/// standard deviation `resolution`.
class MuonSmearing final : public forkrun::Producer {
 public:
  explicit MuonSmearing(Construction& construction)
      : resolution_{construction.parameters().get<double>("resolution", 0.02)},
        random_{construction.random()},
        pt_{construction.consumes_jagged<float>("Muon_pt")},
        smeared_{construction.produces_jagged<float>("SmearedMuon_pt")} {}

  void produce(const EventBlock& block) override {
    const auto pt = block.get(pt_);
    auto& smeared = block.make(smeared_);
    std::ranges::copy(pt.offsets(), smeared.resize_offsets(block.n_events()).begin());
    auto to = resized<float>(smeared, pt.values().size()).begin();
    for (std::size_t event = 0; event < block.n_events(); ++event) {
      auto random = block.random(random_, event);
      for (const float value : pt[event]) {
        *to++ = static_cast<float>(double{value} * random.normal(1.0, resolution_));
      }
    }
  }

 private:
  double resolution_;
  forkrun::RandomKey random_;
  forkrun::JaggedInput<float> pt_;
  forkrun::JaggedOutput<float> smeared_;
};

/// BootstrapWeight : (n_events, n) int32, Poisson numbers of mean 1: the weights of the event in n
/// samples drawn from this one with replacement.
class BootstrapWeights final : public forkrun::Producer {
 public:
  explicit BootstrapWeights(Construction& construction)
      : n_{construction.parameters().get<int>("n", 20)},
        random_{construction.random()},
        weights_{construction.produces_jagged<std::int32_t>("BootstrapWeight")} {
    if (n_ < 1) {
      throw forkrun::Error{"\"n\" must be at least 1"};
    }
  }

  void produce(const EventBlock& block) override {
    auto& column = block.make(weights_);
    const auto offsets = column.resize_offsets(block.n_events());
    auto to =
        resized<std::int32_t>(column, static_cast<std::size_t>(n_) * block.n_events()).begin();
    offsets[0] = 0;
    for (std::size_t event = 0; event < block.n_events(); ++event) {
      auto random = block.random(random_, event);
      to = std::generate_n(to, n_, [&] { return static_cast<std::int32_t>(random.poisson(one_)); });
      offsets[event + 1] = offsets[event] + n_;
    }
  }

 private:
  int n_;
  forkrun::random::Poisson one_{1.0};
  forkrun::RandomKey random_;
  forkrun::JaggedOutput<std::int32_t> weights_;
};

FORKRUN_REGISTER_MODULE(MuonSmearing);
FORKRUN_REGISTER_MODULE(BootstrapWeights);

}  // namespace
