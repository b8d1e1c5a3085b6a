// Dimuon selection on NanoAOD-like columns: the C++ twin of configs/modules.py. Both compute in
// double precision with the same order of operations and the same libm, so their results agree bit
// for bit; this file is compiled without contraction of multiplications and additions.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <forkrun/module.hpp>

namespace {

using forkrun::Construction;
using forkrun::EventBlock;
using forkrun::Mask;
using forkrun::RegularAxis;

/// The muons of a block, and which of them are good.
class MuonSelection {
 public:
  explicit MuonSelection(Construction& construction)
      : pt_min_{construction.parameters().get<double>("pt_min", 5.0)},
        eta_max_{construction.parameters().get<double>("eta_max", 2.4)},
        pt_{construction.consumes_jagged<float>("Muon_pt")},
        eta_{construction.consumes_jagged<float>("Muon_eta")} {}

  /// Indices of the event's good muons, in order of falling pt. Valid until the next call.
  const std::vector<std::size_t>& good(const EventBlock& block, std::size_t event) {
    const auto pt = block.get(pt_)[event];
    const auto eta = block.get(eta_)[event];
    good_.clear();
    for (std::size_t i = 0; i < pt.size(); ++i) {
      if (pt[i] > pt_min_ && std::abs(eta[i]) < eta_max_) {
        good_.push_back(i);
      }
    }
    return good_;
  }
  [[nodiscard]] auto pt(const EventBlock& block) const { return block.get(pt_); }
  [[nodiscard]] auto eta(const EventBlock& block) const { return block.get(eta_); }

 private:
  double pt_min_;
  double eta_max_;
  forkrun::JaggedInput<float> pt_;
  forkrun::JaggedInput<float> eta_;
  std::vector<std::size_t> good_;
};

/// Events whose two leading good muons have opposite charge.
class TwoMuons final : public forkrun::Filter {
 public:
  explicit TwoMuons(Construction& construction)
      : muons_{construction}, charge_{construction.consumes_jagged<std::int32_t>("Muon_charge")} {
    construction.set_concurrency(forkrun::Concurrency::one);
  }

  void filter(const EventBlock& block, std::span<std::uint8_t> accept) override {
    const auto charge = block.get(charge_);
    for (std::size_t event = 0; event < block.n_events(); ++event) {
      const auto& good = muons_.good(block, event);
      accept[event] = good.size() >= 2 && charge[event][good[0]] * charge[event][good[1]] < 0;
    }
  }

 private:
  MuonSelection muons_;
  forkrun::JaggedInput<std::int32_t> charge_;
};

/// Dimuon_mass : (n_events,) float32 [GeV], of the two leading good muons taken as massless; -1 for
/// fewer muons. GoodMuon_pt : (n_events, n) float32 [GeV].
class DimuonMass final : public forkrun::Producer {
 public:
  explicit DimuonMass(Construction& construction)
      : muons_{construction},
        phi_{construction.consumes_jagged<float>("Muon_phi")},
        mass_{construction.produces_scalar<float>("Dimuon_mass")},
        good_pt_{construction.produces_jagged<float>("GoodMuon_pt")} {
    construction.set_concurrency(forkrun::Concurrency::one);
  }

  void produce(const EventBlock& block) override {
    const auto mass = block.make(mass_);
    auto good_pt = forkrun::append(block, good_pt_);
    for (std::size_t event = 0; event < block.n_events(); ++event) {
      const auto& good = muons_.good(block, event);
      for (const auto i : good) {
        good_pt.push_back(muons_.pt(block)[event][i]);
      }
      good_pt.end_event();
      mass[event] = good.size() < 2 ? -1.0F : mass_of(block, event, good[0], good[1]);
    }
  }

 private:
  [[nodiscard]] float mass_of(const EventBlock& block, std::size_t event, std::size_t i,
                              std::size_t j) const {
    const auto pt = muons_.pt(block)[event];
    const auto eta = muons_.eta(block)[event];
    const auto phi = block.get(phi_)[event];
    const double d_eta = double{eta[i]} - double{eta[j]};
    const double d_phi = double{phi[i]} - double{phi[j]};
    const double angle = std::cosh(d_eta) - std::cos(d_phi);
    return static_cast<float>(std::sqrt(2.0 * double{pt[i]} * double{pt[j]} * angle));
  }

  MuonSelection muons_;
  forkrun::JaggedInput<float> phi_;
  forkrun::ScalarOutput<float> mass_;
  forkrun::JaggedOutput<float> good_pt_;
};

/// Events with low <= Dimuon_mass < high [GeV].
class MassWindow final : public forkrun::Filter {
 public:
  explicit MassWindow(Construction& construction)
      : low_{construction.parameters().get<double>("low", 60.0)},
        high_{construction.parameters().get<double>("high", 120.0)},
        mass_{construction.consumes_scalar<float>("Dimuon_mass")} {}

  void filter(const EventBlock& block, std::span<std::uint8_t> accept) override {
    const auto mass = block.get(mass_);
    for (std::size_t event = 0; event < block.n_events(); ++event) {
      accept[event] = mass[event] >= low_ && mass[event] < high_;
    }
  }

 private:
  double low_;
  double high_;
  forkrun::ScalarInput<float> mass_;
};

/// Histograms of the mass and of the leading good muon's pt, for the selected events.
class DimuonPlots final : public forkrun::Analyzer {
 public:
  explicit DimuonPlots(Construction& construction)
      : mass_{construction.consumes_scalar<float>("Dimuon_mass")},
        good_pt_{construction.consumes_jagged<float>("GoodMuon_pt")},
        mass_histogram_{
            construction.book("mass", "Dimuon mass", RegularAxis{120, 0.0, 240.0, "m [GeV]"})},
        pt_histogram_{construction.book("leading_pt", "Leading muon",
                                        RegularAxis{50, 0.0, 200.0, "pt [GeV]"})} {
    construction.set_concurrency(forkrun::Concurrency::reentrant);
  }

  void analyze(const EventBlock& block, Mask selected) override {
    const auto mass = block.get(mass_);
    const auto pt = block.get(good_pt_);
    auto masses = mass_histogram_.filler();
    auto leading_pts = pt_histogram_.filler();
    for (std::size_t event = 0; event < block.n_events(); ++event) {
      if (selected[event] != 0 && pt[event].size() >= 2) {
        masses.fill(double{mass[event]});
        leading_pts.fill(double{pt[event][0]});
      }
    }
  }

 private:
  forkrun::ScalarInput<float> mass_;
  forkrun::JaggedInput<float> good_pt_;
  forkrun::HistogramOf<RegularAxis>& mass_histogram_;
  forkrun::HistogramOf<RegularAxis>& pt_histogram_;
};

FORKRUN_REGISTER_MODULE(TwoMuons);
FORKRUN_REGISTER_MODULE(DimuonMass);
FORKRUN_REGISTER_MODULE(MassWindow);
FORKRUN_REGISTER_MODULE(DimuonPlots);

}  // namespace
