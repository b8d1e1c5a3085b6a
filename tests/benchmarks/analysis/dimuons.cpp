// The analysis with RDataFrame: typed, so nothing is compiled at run time.
//     dimuons FILE      prints the number of pairs of opposite charge

#include <cmath>
#include <cstddef>
#include <cstdio>

#include <ROOT/RDataFrame.hxx>
#include <ROOT/RVec.hxx>

namespace {

using Floats = ROOT::RVecF;

ROOT::RVecI good_muons(const Floats& pt, const Floats& eta) {
  return pt > 5.0F && ROOT::VecOps::abs(eta) < 2.4F;
}

template <typename T>
ROOT::RVec<T> taken(const ROOT::RVec<T>& values, const ROOT::RVecI& good) {
  return values[good];
}

Floats masses(const Floats& pt, const Floats& eta, const Floats& phi, const ROOT::RVecI& charge) {
  Floats found;
  for (std::size_t i = 0; i < pt.size(); ++i) {
    for (std::size_t j = i + 1; j < pt.size(); ++j) {
      if (charge[i] != charge[j]) {
        const float angles = std::cosh(eta[i] - eta[j]) - std::cos(phi[i] - phi[j]);
        found.push_back(std::sqrt(2.0F * pt[i] * pt[j] * angles));
      }
    }
  }
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: dimuons FILE\n");
    return 2;
  }
  ROOT::RDataFrame all{"Events", argv[1]};
  auto events =
      all.Define("good", good_muons, {"Muon_pt", "Muon_eta"})
          .Define("pt", taken<float>, {"Muon_pt", "good"})
          .Define("eta", taken<float>, {"Muon_eta", "good"})
          .Define("phi", taken<float>, {"Muon_phi", "good"})
          .Define("charge", taken<int>, {"Muon_charge", "good"})
          .Define("mass", masses, {"pt", "eta", "phi", "charge"})
          .Define("n", [](const Floats& pt) { return static_cast<int>(pt.size()); }, {"pt"})
          .Define("ht", [](const Floats& pt) { return ROOT::VecOps::Sum(pt[pt > 30.0F]); },
                  {"Jet_pt"});
  auto mass = events.Histo1D<Floats, float>({"mass", "", 120, 0.0, 240.0}, "mass", "genWeight");
  auto pairs = events.Histo1D<Floats>({"pairs", "", 120, 0.0, 240.0}, "mass");
  auto pt = events.Histo1D<Floats>({"muon_pt", "", 100, 0.0, 200.0}, "pt");
  auto eta = events.Histo1D<Floats>({"muon_eta", "", 60, -3.0, 3.0}, "eta");
  auto n = events.Histo1D<int>({"n_muons", "", 10, -0.5, 9.5}, "n");
  auto ht = events.Histo1D<float>({"sum_of_jets", "", 100, 0.0, 1000.0}, "ht");
  auto missing = events.Histo1D<float>({"missing", "", 100, 0.0, 200.0}, "MET_pt");
  std::printf("%.0f\n", pairs->GetEntries());
  return 0;
}
