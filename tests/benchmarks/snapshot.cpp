// The dimuon skim with RDataFrame: typed filters, so nothing is compiled at run time.
//     snapshot IN OUT      prints the seconds of the event loop

#include <chrono>
#include <cmath>
#include <cstdio>

#include <ROOT/RDataFrame.hxx>
#include <ROOT/RVec.hxx>

namespace {

using Floats = ROOT::VecOps::RVec<float>;
using Ints = ROOT::VecOps::RVec<int>;

/// Whether the two leading muons of pt > 5 GeV, |eta| < 2.4 have opposite charge and 60 <= m < 120 GeV.
bool is_z(const Floats& pt, const Floats& eta, const Floats& phi, const Ints& charge) {
  std::size_t found[2];
  std::size_t n = 0;
  for (std::size_t i = 0; i < pt.size() && n < 2; ++i) {
    if (pt[i] > 5.0 && std::abs(eta[i]) < 2.4) {
      found[n++] = i;
    }
  }
  if (n < 2 || charge[found[0]] * charge[found[1]] >= 0) {
    return false;
  }
  const auto [i, j] = found;
  const double d_eta = double{eta[i]} - double{eta[j]};
  const double d_phi = double{phi[i]} - double{phi[j]};
  const double angle = std::cosh(d_eta) - std::cos(d_phi);
  const auto mass = static_cast<float>(std::sqrt(2.0 * double{pt[i]} * double{pt[j]} * angle));
  return mass >= 60.0 && mass < 120.0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: snapshot IN OUT\n");
    return 2;
  }
  const auto start = std::chrono::steady_clock::now();
  ROOT::RDataFrame events{"Events", argv[1]};
  ROOT::RDF::RSnapshotOptions options;
  options.fCompressionAlgorithm = ROOT::RCompressionSetting::EAlgorithm::kZSTD;
  options.fCompressionLevel = 5;
  events.Filter(is_z, {"Muon_pt", "Muon_eta", "Muon_phi", "Muon_charge"})
      .Snapshot("Events", argv[2], events.GetColumnNames(), options);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  std::printf("%.6f\n", taken.count());
  return 0;
}
