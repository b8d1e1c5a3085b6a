#pragma once

#include <string>
#include <vector>

namespace forkrun::root_io {

/// A TH1, TH2 or TH3 in a file.
struct StoredHistogram {
  std::string title;
  std::vector<std::vector<double>> edges;  ///< per axis, n_bins + 1
  std::vector<double> values;              ///< C order, n_bins + 2 per axis: with flow bins
  std::vector<double> variances;
  std::vector<std::string> axis_titles;
};

/// `name` may have folders ("muon/id"). \throws InputError if there is none, naming existing ones
[[nodiscard]] StoredHistogram read_histogram(const std::string& path, const std::string& name);

}  // namespace forkrun::root_io
