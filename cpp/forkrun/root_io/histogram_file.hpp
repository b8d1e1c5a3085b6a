#pragma once

#include <span>
#include <string>
#include <vector>

namespace forkrun::root_io {

/// A histogram of 1 to 3 axes with flow bins, as it is written to a file.
struct HistogramContent {
  std::string name;  ///< may have folders: "dimuon/mass"
  std::string title;
  std::vector<std::vector<double>> edges;  ///< per axis, n_bins + 1
  std::span<const double> values;          ///< C order, n_bins + 2 per axis
  std::span<const double> variances;
  std::vector<std::string> axis_titles;
};

/// Adds TH1D, TH2D or TH3D to a file, new or existing. \throws OutputError
void write_histograms(const std::string& path, std::span<const HistogramContent> histograms);

}  // namespace forkrun::root_io
