#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace forkrun::root_io {

/// An axis of a histogram, as written to a file.
struct AxisContent {
  std::string title;
  std::vector<double> edges;        ///< n_bins + 1
  bool has_equal_bins{};            ///< only the first and the last edge count
  std::vector<std::string> labels;  ///< of the bins; none, or n_bins

  [[nodiscard]] std::size_t n_bins() const { return edges.size() - 1; }
  /// Bins and both flow bins.
  [[nodiscard]] std::size_t n_cells() const { return edges.size() + 1; }
};

/// Sums kept per bin. w: weights of fills; y: samples of a profile.
enum class HistogramStorage {
  counts,         ///< w: a TH1D without sums of squared weights
  weights,        ///< w, w²: a TH1D with them
  means,          ///< w, w y, w y²: a TProfile whose weights are 1
  weighted_means  ///< w, w², w y, w y²: a TProfile
};

using Sums = std::span<const double>;

/// A histogram or profile, as written to a file.
struct HistogramContent {
  std::string name;   ///< may have folders: "dimuon/mass"
  std::string title;  ///< "title;of x;of y;of z": an axis's own title counts more
  std::vector<AxisContent> axes;
  HistogramStorage storage{};
  /// Sum after sum; each with n_bins + 2 per axis, the first axis fastest.
  Sums sums;
  bool is_sparse{};  ///< a THnSparseD, as always for more than 3 axes

  [[nodiscard]] bool is_profile() const;
  [[nodiscard]] bool is_written_sparse() const { return is_sparse || axes.size() > 3; }
  [[nodiscard]] std::size_t n_cells() const;
  [[nodiscard]] Sums weights() const;
  [[nodiscard]] Sums squared_weights() const;  ///< empty if they are not kept
  [[nodiscard]] Sums samples() const;          ///< w y, of a profile
  [[nodiscard]] Sums squared_samples() const;  ///< w y², of a profile
  /// Number of fills if no weights are kept, else (Σw)²/Σw²; flow bins included.
  [[nodiscard]] double n_entries() const;
  /// \throws OutputError naming the histogram if a ROOT file cannot hold it
  void check() const;
};

}  // namespace forkrun::root_io
