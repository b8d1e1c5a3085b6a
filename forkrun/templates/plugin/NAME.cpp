// Modules of the library NAME. A job names them as type = "cpp:MuonPairs".
#include <cmath>

#include <forkrun/module.hpp>

namespace {

/// MuonPair_mass, MuonPair_pt : (n_events, n) float32 [GeV], of all pairs of muons of opposite
/// charge, taken as massless.
class MuonPairs final : public forkrun::Producer {
 public:
  explicit MuonPairs(forkrun::Construction& construction)
      : pt_{construction.consumes_jagged<float>("Muon_pt")},
        eta_{construction.consumes_jagged<float>("Muon_eta")},
        phi_{construction.consumes_jagged<float>("Muon_phi")},
        charge_{construction.consumes_jagged<std::int32_t>("Muon_charge")},
        mass_{construction.produces_jagged<float>("MuonPair_mass")},
        pair_pt_{construction.produces_jagged<float>("MuonPair_pt")} {}

  void produce(const forkrun::EventBlock& block) override {
    const auto charge = block.get(charge_);
    auto pairs = forkrun::append(block, mass_, pair_pt_);
    for (std::size_t event = 0; event < block.n_events(); ++event) {
      for (std::size_t i = 0; i < charge[event].size(); ++i) {
        for (std::size_t j = i + 1; j < charge[event].size(); ++j) {
          if (charge[event][i] != charge[event][j]) {
            pairs.push_back(mass_of(block, event, i, j), pt_of(block, event, i, j));
          }
        }
      }
      pairs.end_event();
    }
  }

 private:
  [[nodiscard]] float mass_of(const forkrun::EventBlock& block, std::size_t event, std::size_t i,
                              std::size_t j) const {
    const auto pt = block.get(pt_)[event];
    const auto eta = block.get(eta_)[event];
    const auto phi = block.get(phi_)[event];
    const double angle = std::cosh(double{eta[i]} - eta[j]) - std::cos(double{phi[i]} - phi[j]);
    return static_cast<float>(std::sqrt(2.0 * pt[i] * pt[j] * angle));
  }

  [[nodiscard]] float pt_of(const forkrun::EventBlock& block, std::size_t event, std::size_t i,
                            std::size_t j) const {
    const auto pt = block.get(pt_)[event];
    const auto phi = block.get(phi_)[event];
    const double x = pt[i] * std::cos(double{phi[i]}) + pt[j] * std::cos(double{phi[j]});
    const double y = pt[i] * std::sin(double{phi[i]}) + pt[j] * std::sin(double{phi[j]});
    return static_cast<float>(std::hypot(x, y));
  }

  forkrun::JaggedInput<float> pt_;
  forkrun::JaggedInput<float> eta_;
  forkrun::JaggedInput<float> phi_;
  forkrun::JaggedInput<std::int32_t> charge_;
  forkrun::JaggedOutput<float> mass_;
  forkrun::JaggedOutput<float> pair_pt_;
};

/// Events with a pair in a window of masses; parameters "low" and "high" [GeV].
class PairInWindow final : public forkrun::Filter {
 public:
  explicit PairInWindow(forkrun::Construction& construction)
      : low_{construction.parameters().get<float>("low", 60.0F)},
        high_{construction.parameters().get<float>("high", 120.0F)},
        mass_{construction.consumes_jagged<float>("MuonPair_mass")} {}

  void filter(const forkrun::EventBlock& block, std::span<std::uint8_t> accept) override {
    const auto mass = block.get(mass_);
    for (std::size_t event = 0; event < block.n_events(); ++event) {
      accept[event] = 0;
      for (const float value : mass[event]) {
        accept[event] |= static_cast<std::uint8_t>(value > low_ && value < high_);
      }
    }
  }

 private:
  float low_;
  float high_;
  forkrun::JaggedInput<float> mass_;
};

/// The masses of the pairs in selected events, as a histogram.
class PairPlots final : public forkrun::Analyzer {
 public:
  explicit PairPlots(forkrun::Construction& construction)
      : mass_{construction.consumes_jagged<float>("MuonPair_mass")},
        histogram_{construction.book("mass", "pairs of muons",
                                     forkrun::RegularAxis{60, 60.0, 120.0, "m [GeV]"})} {
    construction.set_concurrency(forkrun::Concurrency::reentrant);
  }

  void analyze(const forkrun::EventBlock& block, forkrun::Mask selected) override {
    const auto mass = block.get(mass_);
    auto masses = histogram_.filler();
    for (std::size_t event = 0; event < block.n_events(); ++event) {
      if (selected[event] != 0) {
        for (const float value : mass[event]) {
          masses.fill(double{value});
        }
      }
    }
  }

 private:
  forkrun::JaggedInput<float> mass_;
  forkrun::HistogramOf<forkrun::RegularAxis>& histogram_;
};

FORKRUN_REGISTER_MODULE(MuonPairs);
FORKRUN_REGISTER_MODULE(PairInWindow);
FORKRUN_REGISTER_MODULE(PairPlots);

}  // namespace
