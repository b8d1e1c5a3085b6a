#pragma once

#include <span>
#include <string>
#include <vector>

namespace forkrun::root_io {

/// An axis of a histogram, as it is written to a file.
struct AxisContent {
  std::string title;
  std::vector<double> edges;        ///< n_bins + 1
  bool has_equal_bins{};            ///< of the first and the last edge, the others are ignored
  std::vector<std::string> labels;  ///< of the bins; none, or n_bins
};

/// Which sums a histogram keeps per bin. w: weights of fills; y: what a profile takes the mean of.
enum class HistogramStorage {
  counts,         ///< w: a TH1D without sums of squared weights
  weights,        ///< w, w²: a TH1D with them
  means,          ///< w, w y, w y²: a TProfile whose weights are 1
  weighted_means  ///< w, w², w y, w y²: a TProfile
};

/// A histogram or profile, as it is written to a file.
struct HistogramContent {
  std::string name;  ///< may have folders: "dimuon/mass"
  std::string title;
  std::vector<AxisContent> axes;
  HistogramStorage storage{};
  /// One sum after the other; each with n_bins + 2 per axis, the first axis fastest.
  std::span<const double> sums;
  bool is_sparse{};  ///< a THnSparseD, as histograms of more than 3 axes are anyway
};

/// Adds TH1D, TProfile, their sisters and THnSparseD to a file, new or existing. Number of entries:
/// that of the fills where no weights are kept, else (Σw)²/Σw², flow bins included. Moments: from
/// the centres of bins. \throws OutputError
void write_histograms(const std::string& path, std::span<const HistogramContent> histograms);

}  // namespace forkrun::root_io
