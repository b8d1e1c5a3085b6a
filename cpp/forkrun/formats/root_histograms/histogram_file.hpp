#pragma once

#include <span>
#include <string>
#include <vector>

#include <forkrun/formats/root_histograms/histogram_content.hpp>

namespace forkrun::root_io {

/// Writes a new file of TH1D, TProfile, their variants and THnSparseD, without ROOT. Moments: from
/// the centres of bins. \throws OutputError
void write_histograms(const std::string& path, std::span<const HistogramContent> histograms);

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
