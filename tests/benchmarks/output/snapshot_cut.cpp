// Keeps events by one column with RDataFrame: a typed filter, so nothing is compiled at run time.
//     snapshot_cut IN OUT COLUMN LEAST THREADS [rntuple]      prints the seconds of the event loop

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <TROOT.h>
#include <ROOT/RDataFrame.hxx>

namespace {

/// Of RNTuples each column once: members of lists under the names of trees, as what they are
/// projected to.
std::vector<std::string> columns_of(ROOT::RDataFrame& events) {
  const auto all = events.GetColumnNames();
  std::vector<std::string> columns;
  for (const auto& name : all) {
    const bool is_list = std::any_of(
        all.begin(), all.end(), [&](const auto& other) { return other.rfind(name + ".", 0) == 0; });
    if (name.find('.') == std::string::npos && name.rfind("R_rdf_", 0) != 0 && !is_list) {
      columns.push_back(name);
    }
  }
  return columns;
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_ntuple = argc == 7 && std::string_view{argv[6]} == "rntuple";
  if (argc != 6 && !is_ntuple) {
    std::fprintf(stderr, "usage: snapshot_cut IN OUT COLUMN LEAST THREADS [rntuple]\n");
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
  if (is_ntuple) {
    options.fOutputFormat = ROOT::RDF::ESnapshotOutputFormat::kRNTuple;
  }
  const float least = std::strtof(argv[4], nullptr);
  events.Filter([least](float value) { return value >= least; }, {argv[3]})
      .Snapshot("Events", argv[2], columns_of(events), options);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  std::printf("%.6f\n", taken.count());
  return 0;
}
