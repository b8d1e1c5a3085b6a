#include <forkrun/root_io/write/histogram_file.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <numeric>
#include <vector>

#include <TFile.h>
#include <TH1D.h>
#include <TH2D.h>
#include <TH3D.h>
#include <THnSparse.h>
#include <TProfile.h>
#include <TProfile2D.h>
#include <TProfile3D.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/root_io/read/input_file.hpp>
#include <forkrun/root_io/write/output_file.hpp>

namespace forkrun::root_io {

namespace {

using Sum = std::span<const double>;

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

std::size_t n_cells(const HistogramContent& content) {
  std::size_t n = 1;
  for (const auto& axis : content.axes) {
    n *= axis.edges.size() + 1;
  }
  return n;
}

/// Over all cells; the order of sums is that of HistogramStorage.
Sum sum_of(const HistogramContent& content, std::size_t number) {
  const auto n = n_cells(content);
  return content.sums.subspan(number * n, n);
}

void check(const HistogramContent& content) {
  const auto start = "histogram \"" + content.name + "\" has ";
  if (content.axes.empty() || (content.axes.size() > 3 && n_sums(content.storage) > 2)) {
    throw OutputError(start + std::to_string(content.axes.size()) +
                      " axes; a ROOT file holds histograms of one and more, profiles of 1, 2 or 3");
  }
  for (const auto& axis : content.axes) {
    if (axis.edges.size() < 2) {
      throw OutputError(start + "an axis without a bin");
    }
    if (!axis.labels.empty() && axis.labels.size() + 1 != axis.edges.size()) {
      throw OutputError(start + std::to_string(axis.labels.size()) + " labels for " +
                        std::to_string(axis.edges.size() - 1) + " bins");
    }
  }
  if (content.is_sparse && n_sums(content.storage) > 2) {
    throw OutputError(start + "means of samples, which ROOT has no sparse object for");
  }
  const auto expected = n_sums(content.storage) * n_cells(content);
  if (content.sums.size() != expected) {
    throw OutputError(start + std::to_string(content.sums.size()) + " values where its axes give " +
                      std::to_string(expected));
  }
}

template <typename One, typename Two, typename Three>
std::unique_ptr<TH1> construct(const HistogramContent& content, const std::string& name) {
  const auto n = [&](std::size_t i) { return static_cast<int>(content.axes[i].edges.size()) - 1; };
  const auto edges = [&](std::size_t i) { return content.axes[i].edges.data(); };
  const char* const title = content.title.c_str();
  switch (content.axes.size()) {
    case 1: return std::make_unique<One>(name.c_str(), title, n(0), edges(0));
    case 2: return std::make_unique<Two>(name.c_str(), title, n(0), edges(0), n(1), edges(1));
    default:
      return std::make_unique<Three>(name.c_str(), title, n(0), edges(0), n(1), edges(1), n(2),
                                     edges(2));
  }
}

void describe(TAxis& axis, const AxisContent& content) {
  if (content.has_equal_bins) {
    axis.Set(axis.GetNbins(), content.edges.front(), content.edges.back());
  }
  axis.SetTitle(content.title.c_str());
  for (int bin = 1; const auto& label : content.labels) {
    axis.SetBinLabel(bin++, label.c_str());
  }
}

void copy(Sum from, TArrayD& to) { std::ranges::copy(from, to.GetArray()); }

void fill_histogram(TH1& histogram, const HistogramContent& content) {
  copy(sum_of(content, 0), dynamic_cast<TArrayD&>(histogram));
  if (keeps_squared_weights(content.storage)) {
    histogram.Sumw2();
    copy(sum_of(content, 1), *histogram.GetSumw2());
  }
}

template <typename Profile>
void fill_profile(Profile& profile, const HistogramContent& content) {
  for (int cell = 0; const double weight : sum_of(content, 0)) {
    profile.SetBinEntries(cell++, weight);  // and, where they are kept, their squares: so, first
  }
  std::size_t next = 1;
  if (keeps_squared_weights(content.storage)) {
    profile.Sumw2();
    copy(sum_of(content, next++), *profile.GetBinSumw2());
  }
  copy(sum_of(content, next), profile);
  copy(sum_of(content, next + 1), *profile.GetSumw2());
}

void fill_profile_of(TH1& profile, const HistogramContent& content) {
  switch (content.axes.size()) {
    case 1: return fill_profile(dynamic_cast<TProfile&>(profile), content);
    case 2: return fill_profile(dynamic_cast<TProfile2D&>(profile), content);
    default: return fill_profile(dynamic_cast<TProfile3D&>(profile), content);
  }
}

double n_entries(const HistogramContent& content) {
  const auto total = [&](std::size_t number) {
    const auto sum = sum_of(content, number);
    return std::accumulate(sum.begin(), sum.end(), 0.0);
  };
  const double weights = total(0);
  if (!keeps_squared_weights(content.storage)) {
    return std::abs(weights);
  }
  const double squared = total(1);
  return squared > 0 ? weights * weights / squared : 0.0;
}

std::unique_ptr<TH1> make_histogram(const HistogramContent& content, const std::string& name) {
  const bool is_profile = n_sums(content.storage) > 2;
  auto histogram = is_profile ? construct<TProfile, TProfile2D, TProfile3D>(content, name)
                              : construct<TH1D, TH2D, TH3D>(content, name);
  histogram->SetDirectory(nullptr);
  TAxis* const axes[] = {histogram->GetXaxis(), histogram->GetYaxis(), histogram->GetZaxis()};
  for (std::size_t i = 0; i < content.axes.size(); ++i) {
    describe(*axes[i], content.axes[i]);
  }
  is_profile ? fill_profile_of(*histogram, content) : fill_histogram(*histogram, content);
  histogram->ResetStats();
  histogram->SetEntries(n_entries(content));
  return histogram;
}

/// Of equal bins where ROOT can know it; without content.
std::unique_ptr<THnSparseD> construct_sparse(const HistogramContent& content,
                                             const std::string& name) {
  std::vector<int> n_bins;
  std::vector<double> lows;
  std::vector<double> highs;
  for (const auto& axis : content.axes) {
    n_bins.push_back(static_cast<int>(axis.edges.size()) - 1);
    lows.push_back(axis.edges.front());
    highs.push_back(axis.edges.back());
  }
  auto histogram = std::make_unique<THnSparseD>(name.c_str(), content.title.c_str(),
                                                static_cast<int>(n_bins.size()), n_bins.data(),
                                                lows.data(), highs.data());
  for (int number = 0; const auto& axis : content.axes) {
    if (!axis.has_equal_bins) {
      histogram->SetBinEdges(number, axis.edges.data());
    }
    describe(*histogram->GetAxis(number++), axis);
  }
  return histogram;
}

/// Bins of all axes, flow included, of a cell.
void find_bins(const HistogramContent& content, std::size_t cell, std::vector<int>& bins) {
  bins.clear();
  for (const auto& axis : content.axes) {
    bins.push_back(static_cast<int>(cell % (axis.edges.size() + 1)));
    cell /= axis.edges.size() + 1;
  }
}

/// Only cells with content take memory, and are in the file, in the order of all cells.
std::unique_ptr<THnSparseD> make_sparse(const HistogramContent& content, const std::string& name) {
  auto histogram = construct_sparse(content, name);
  const bool has_squares = keeps_squared_weights(content.storage);
  const Sum values = sum_of(content, 0);
  const Sum squares = has_squares ? sum_of(content, 1) : values;
  if (has_squares) {
    histogram->Sumw2();
  }
  std::vector<int> bins;
  for (std::size_t cell = 0; cell < values.size(); ++cell) {
    if (values[cell] != 0 || squares[cell] != 0) {  // true for NaN
      find_bins(content, cell, bins);
      const auto bin = histogram->GetBin(bins.data(), true);
      histogram->SetBinContent(bin, values[cell]);
      if (has_squares) {
        histogram->SetBinError2(bin, squares[cell]);
      }
    }
  }
  histogram->SetEntries(n_entries(content));
  return histogram;
}

std::unique_ptr<TObject> make_object(const HistogramContent& content, const std::string& name) {
  if (content.axes.size() > 3 || content.is_sparse) {
    return make_sparse(content, name);
  }
  return make_histogram(content, name);
}

void write(OutputFile& file, const HistogramContent& content) {
  check(content);
  const auto name = content.name.substr(content.name.rfind('/') + 1);
  const CapturedMessages messages;
  const auto histogram = make_object(content, name);
  if (file.folder_of(content.name).WriteTObject(histogram.get(), name.c_str()) <= 0) {
    file.check();
    throw OutputError(file.path() + ": histogram \"" + content.name +
                      "\" cannot be written: " + messages.first());
  }
}

}  // namespace

void write_histograms(const std::string& path, std::span<const HistogramContent> histograms) {
  const auto mode = std::filesystem::exists(path) ? OutputMode::update : OutputMode::create;
  OutputFile output{path, Compression::parse("zlib:1"), mode};
  for (const auto& content : histograms) {
    write(output, content);
  }
  output.close();
}

}  // namespace forkrun::root_io
