#include <forkrun/formats/root_histograms/histogram_content.hpp>

#include <cmath>
#include <numeric>

#include <forkrun/core/data/counted.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/root_file/object_writer.hpp>
#include <forkrun/formats/root_histograms/sparse_record.hpp>

namespace forkrun::root_io {

namespace {

std::size_t n_sums(HistogramStorage storage) {
  switch (storage) {
    case HistogramStorage::counts: return 1;
    case HistogramStorage::weights: return 2;
    case HistogramStorage::means: return 3;
    case HistogramStorage::weighted_means: return 4;
  }
  return 0;
}

bool keeps_squared_weights(HistogramStorage storage) {
  return storage == HistogramStorage::weights || storage == HistogramStorage::weighted_means;
}

Sums sum_of(const HistogramContent& content, std::size_t number) {
  const auto n = content.n_cells();
  return content.sums.subspan(number * n, n);
}

double total(Sums sums) { return std::accumulate(sums.begin(), sums.end(), 0.0); }

void check_axis(const AxisContent& axis, const std::string& start) {
  if (axis.edges.size() < 2) {
    throw OutputError(start + "an axis without a bin");
  }
  if (!axis.labels.empty() && axis.labels.size() != axis.n_bins()) {
    throw OutputError(start + std::to_string(axis.labels.size()) + " labels for " +
                      counted(axis.n_bins(), "bin"));
  }
}

/// Size of an object without its sums: names, titles, labels, and ROOT's overhead for each.
std::size_t n_other_bytes(const HistogramContent& content) {
  constexpr std::size_t of_object = 4096;
  constexpr std::size_t of_label = 64;
  auto n = of_object + content.name.size() + content.title.size();
  for (const auto& axis : content.axes) {
    n += axis.title.size() + axis.edges.size() * sizeof(double);
    for (const auto& label : axis.labels) {
      n += label.size() + of_label;
    }
  }
  return n;
}

}  // namespace

bool HistogramContent::is_profile() const { return n_sums(storage) > 2; }

std::size_t HistogramContent::n_cells() const {
  std::size_t n = 1;
  for (const auto& axis : axes) {
    n *= axis.n_cells();
  }
  return n;
}

Sums HistogramContent::weights() const { return sum_of(*this, 0); }

Sums HistogramContent::squared_weights() const {
  return keeps_squared_weights(storage) ? sum_of(*this, 1) : Sums{};
}

Sums HistogramContent::samples() const { return sum_of(*this, n_sums(storage) - 2); }

Sums HistogramContent::squared_samples() const { return sum_of(*this, n_sums(storage) - 1); }

double HistogramContent::n_entries() const {
  const double all = total(weights());
  if (!keeps_squared_weights(storage)) {
    return std::abs(all);
  }
  const double squared = total(squared_weights());
  return squared > 0 ? all * all / squared : 0.0;
}

void HistogramContent::check() const {
  const auto start = "histogram \"" + name + "\" has ";
  if (axes.empty() || (axes.size() > 3 && is_profile())) {
    throw OutputError(start + counted(axes.size(), "axis", "axes") +
                      "; a ROOT file holds histograms of one and more, profiles of 1, 2 or 3");
  }
  for (const auto& axis : axes) {
    check_axis(axis, start);
  }
  if (is_sparse && is_profile()) {
    throw OutputError(start + "means of samples, which ROOT has no sparse object for");
  }
  const auto expected = n_sums(storage) * n_cells();
  if (sums.size() != expected) {
    throw OutputError(start + counted(sums.size(), "value") + " where its axes give " +
                      std::to_string(expected));
  }
  const auto n_bytes =
      n_other_bytes(*this) + (is_written_sparse() ? n_sparse_bytes(*this) : sums.size_bytes());
  if (n_bytes > most_object_bytes) {
    throw OutputError(start + counted(n_bytes, "byte") +
                      ", and an object in a ROOT file can have 1 GB: give it fewer bins");
  }
}

}  // namespace forkrun::root_io
