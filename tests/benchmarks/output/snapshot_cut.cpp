// Keeps events by one column with RDataFrame: a typed filter, so nothing is compiled at run time.
//     snapshot_cut IN OUT COLUMN LEAST THREADS      prints the seconds of the event loop

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <ROOT/RDataFrame.hxx>
#include <TROOT.h>

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: snapshot_cut IN OUT COLUMN LEAST THREADS\n");
    return 2;
  }
  const auto start = std::chrono::steady_clock::now();
  const int n_threads = std::atoi(argv[5]);
  if (n_threads > 1) {
    ROOT::EnableImplicitMT(n_threads);
  }
  ROOT::RDataFrame events{"Events", argv[1]};
  ROOT::RDF::RSnapshotOptions options;
  options.fCompressionAlgorithm = ROOT::RCompressionSetting::EAlgorithm::kZSTD;
  options.fCompressionLevel = 5;
  const float least = std::strtof(argv[4], nullptr);
  events.Filter([least](float value) { return value >= least; }, {argv[3]})
      .Snapshot("Events", argv[2], events.GetColumnNames(), options);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  std::printf("%.6f\n", taken.count());
  return 0;
}
