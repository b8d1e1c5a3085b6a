#include <forkrun/formats/root_histograms/histogram_file.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <random>

#include <TError.h>
#include <TFile.h>
#include <TH1D.h>
#include <TH2D.h>
#include <TH3D.h>
#include <THnSparse.h>
#include <TKey.h>
#include <TNamed.h>
#include <TProfile.h>
#include <TProfile2D.h>
#include <TProfile3D.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/root_file/file_record.hpp>
#include <forkrun/formats/root_file/output_file.hpp>
#include <forkrun/formats/root_file/test_bytes.hpp>
#include <forkrun/formats/testing/folder_test.hpp>

namespace forkrun::root_io {

namespace {

// --- the same histograms, as objects of ROOT, written by ROOT ------------------------------------
template <typename One, typename Two, typename Three>
std::unique_ptr<TH1> construct(const HistogramContent& content, const std::string& name) {
  const auto n = [&](std::size_t i) { return static_cast<int>(content.axes[i].n_bins()); };
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

void copy(Sums from, TArrayD& to) { std::ranges::copy(from, to.GetArray()); }

void fill_histogram(TH1& histogram, const HistogramContent& content) {
  copy(content.weights(), dynamic_cast<TArrayD&>(histogram));
  if (!content.squared_weights().empty()) {
    histogram.Sumw2();
    copy(content.squared_weights(), *histogram.GetSumw2());
  }
}

template <typename Profile>
void fill_profile(Profile& profile, const HistogramContent& content) {
  for (int cell = 0; const double weight : content.weights()) {
    profile.SetBinEntries(cell++, weight);  // and, where they are kept, their squares: so, first
  }
  if (!content.squared_weights().empty()) {
    profile.Sumw2();
    copy(content.squared_weights(), *profile.GetBinSumw2());
  }
  copy(content.samples(), profile);
  copy(content.squared_samples(), *profile.GetSumw2());
}

void fill(TH1& histogram, const HistogramContent& content) {
  if (!content.is_profile()) {
    return fill_histogram(histogram, content);
  }
  switch (content.axes.size()) {
    case 1: return fill_profile(dynamic_cast<TProfile&>(histogram), content);
    case 2: return fill_profile(dynamic_cast<TProfile2D&>(histogram), content);
    default: return fill_profile(dynamic_cast<TProfile3D&>(histogram), content);
  }
}

std::unique_ptr<TObject> make_histogram(const HistogramContent& content, const std::string& name) {
  auto histogram = content.is_profile() ? construct<TProfile, TProfile2D, TProfile3D>(content, name)
                                        : construct<TH1D, TH2D, TH3D>(content, name);
  histogram->SetDirectory(nullptr);
  TAxis* const axes[] = {histogram->GetXaxis(), histogram->GetYaxis(), histogram->GetZaxis()};
  for (std::size_t i = 0; i < content.axes.size(); ++i) {
    describe(*axes[i], content.axes[i]);
  }
  fill(*histogram, content);
  histogram->ResetStats();
  histogram->SetEntries(content.n_entries());
  return histogram;
}

std::unique_ptr<THnSparseD> construct_sparse(const HistogramContent& content,
                                             const std::string& name) {
  std::vector<int> n_bins;
  std::vector<double> lows;
  std::vector<double> highs;
  for (const auto& axis : content.axes) {
    n_bins.push_back(static_cast<int>(axis.n_bins()));
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

std::vector<int> bins_of(const HistogramContent& content, std::size_t cell) {
  std::vector<int> bins;
  for (const auto& axis : content.axes) {
    bins.push_back(static_cast<int>(cell % axis.n_cells()));
    cell /= axis.n_cells();
  }
  return bins;
}

std::unique_ptr<TObject> make_sparse(const HistogramContent& content, const std::string& name) {
  auto histogram = construct_sparse(content, name);
  const auto values = content.weights();
  const auto squares = content.squared_weights();
  if (!squares.empty()) {
    histogram->Sumw2();
  }
  for (std::size_t cell = 0; cell < values.size(); ++cell) {
    if (values[cell] != 0 || (!squares.empty() && squares[cell] != 0)) {
      const auto bin = histogram->GetBin(bins_of(content, cell).data(), true);
      histogram->SetBinContent(bin, values[cell]);
      if (!squares.empty()) {
        histogram->SetBinError2(bin, squares[cell]);
      }
    }
  }
  histogram->SetEntries(content.n_entries());
  return histogram;
}

/// Each folder has its name as title.
TDirectory& folder_of(OutputFile& file, const std::string& object_path) {
  for (auto end = object_path.find('/'); end != std::string::npos;
       end = object_path.find('/', end + 1)) {
    const auto folder = object_path.substr(0, end);
    file.folder(folder, folder.substr(folder.rfind('/') + 1));
  }
  return file.folder_of(object_path);
}

void write_by_root(const std::string& path, std::span<const HistogramContent> histograms) {
  OutputFile file{path, Compression::parse("zlib:1")};
  for (const auto& content : histograms) {
    const auto name = content.name.substr(content.name.rfind('/') + 1);
    const auto object =
        content.is_written_sparse() ? make_sparse(content, name) : make_histogram(content, name);
    folder_of(file, content.name).WriteTObject(object.get(), name.c_str());
  }
  file.close();
}

// --- histograms to write
// --------------------------------------------------------------------------
constexpr HistogramStorage storages[] = {HistogramStorage::counts, HistogramStorage::weights,
                                         HistogramStorage::means, HistogramStorage::weighted_means};

AxisContent equal_axis(std::size_t n_bins) {
  std::vector<double> edges;
  for (std::size_t i = 0; i <= n_bins; ++i) {
    edges.push_back(-0.3 + 0.7 * static_cast<double>(i));
  }
  return {"x [GeV]", edges, true, {}};
}

AxisContent variable_axis() { return {"y", {0, 0.1, 0.7, 5, 1e9}, false, {}}; }

AxisContent labelled_axis() { return {"", {0, 1, 2, 3}, true, {"nominal", "µ→e", ""}}; }

/// With sums that have many digits; owns them.
struct Histogram {
  Histogram(const std::string& name, const std::string& title, std::vector<AxisContent> axes,
            HistogramStorage storage, bool is_sparse = false)
      : content{name, title, std::move(axes), storage, {}, is_sparse} {
    std::mt19937_64 random{content.axes.size()};
    std::uniform_real_distribution<double> uniform{0.1, 10};
    const std::size_t n_sums[] = {1, 2, 3, 4};
    sums.resize(content.n_cells() * n_sums[static_cast<std::size_t>(storage)]);
    std::ranges::generate(sums, [&] { return uniform(random); });
  }
  [[nodiscard]] HistogramContent with_sums() const {
    auto whole = content;
    whole.sums = sums;
    return whole;
  }

  HistogramContent content;
  std::vector<double> sums;
};

class HistogramFileTest : public FolderTest {
 protected:
  void expect_as_root_writes(const std::vector<Histogram>& histograms) const {
    std::vector<HistogramContent> contents;
    for (const auto& histogram : histograms) {
      contents.push_back(histogram.with_sums());
    }
    write_histograms(path("ours.root"), contents);
    write_by_root(path("theirs.root"), contents);
    EXPECT_EQ(different_byte(path("ours.root"), path("theirs.root")), no_byte);
  }
};

TEST_F(HistogramFileTest, AFileWithoutHistogramsIsAsRootWritesIt) { expect_as_root_writes({}); }

TEST_F(HistogramFileTest, EveryStorageIsAsRootWritesItWithOneTwoAndThreeAxes) {
  const std::vector<AxisContent> axes{equal_axis(7), variable_axis(), equal_axis(3)};
  for (const auto storage : storages) {
    for (std::size_t n = 1; n <= axes.size(); ++n) {
      const std::vector<AxisContent> some{axes.begin(), axes.begin() + static_cast<int>(n)};
      expect_as_root_writes({{"h", "a title", some, storage}});
      const std::vector<AxisContent> others{axes.rbegin(), axes.rbegin() + static_cast<int>(n)};
      expect_as_root_writes({{"h", "a title", others, storage}});
    }
  }
}

TEST_F(HistogramFileTest, LabelsAreAsRootWritesThem) {
  for (const auto storage : storages) {
    expect_as_root_writes({{"h", "", {labelled_axis()}, storage}});
    expect_as_root_writes({{"h", "", {labelled_axis(), labelled_axis()}, storage}});
    expect_as_root_writes({{"h", "", {variable_axis(), labelled_axis(), equal_axis(2)}, storage}});
  }
}

TEST_F(HistogramFileTest, SparseHistogramsAreAsRootWritesThem) {
  for (const auto storage : {HistogramStorage::counts, HistogramStorage::weights}) {
    expect_as_root_writes({{"h", "t;x;y", {equal_axis(9)}, storage, true}});
    expect_as_root_writes({{"h", "t", {labelled_axis(), variable_axis()}, storage, true}});
    expect_as_root_writes({{"h", "t", {labelled_axis(), labelled_axis()}, storage, true}});
    std::vector<AxisContent> four{equal_axis(14), equal_axis(40), labelled_axis(), equal_axis(6)};
    expect_as_root_writes({{"h", "t", four, storage}});  // of more than one chunk
    Histogram histogram{"h", "t", {equal_axis(1)}, storage, true};
    histogram.sums.assign(histogram.sums.size(), 0);
    expect_as_root_writes({histogram});  // without content
  }
}

TEST_F(HistogramFileTest, FoldersAndManyHistogramsAreAsRootWritesThem) {
  const auto counts = HistogramStorage::counts;
  const std::vector<AxisContent> one{equal_axis(4)};
  const std::vector<AxisContent> two{equal_axis(40), labelled_axis()};
  expect_as_root_writes({{"b/h1", "t", one, counts},
                         {"a/inner/h2", "t", two, HistogramStorage::weights},
                         {"h3", "t", one, HistogramStorage::means},
                         {"a/h4", "t", two, HistogramStorage::weighted_means},
                         {"a/other/deep/h4", "t", one, counts, true},
                         {"b/h5 ", "a blank at its end", one, counts}});
}

TEST_F(HistogramFileTest, TitlesAreTakenApartAsRootDoes) {
  const auto counts = HistogramStorage::counts;
  const std::vector<AxisContent> one{equal_axis(4)};
  const std::string titles[] = {
      "t;of x;of y", "t;of x;of y;of z",    "a#;b;c#;d;e",         "t;;",
      ";x",          std::string(254, 'a'), std::string(255, 'b'), std::string(3000, 'c') + ";;µ"};
  for (const auto& title : titles) {
    expect_as_root_writes({{"h", title, one, counts}, {std::string(300, 'n'), "", one, counts}});
  }
}

TEST_F(HistogramFileTest, WhatIsNoNumberIsAsRootWritesIt) {
  for (const auto storage : storages) {
    for (const double value : {std::nan(""), std::numeric_limits<double>::infinity(), -3.5, 0.0}) {
      Histogram histogram{"h", "t", {equal_axis(5), variable_axis()}, storage};
      std::ranges::fill(std::span{histogram.sums}.subspan(7, 5), value);
      expect_as_root_writes({histogram});
    }
  }
}

TEST_F(HistogramFileTest, WhatIsCompressedInMoreThanOneBlockIsAsRootWritesIt) {
  const std::vector<AxisContent> axes(3, equal_axis(127));  // 17 MB, and a block has 16
  Histogram histogram{"h", "t", axes, HistogramStorage::counts};
  std::ranges::generate(histogram.sums, [n = 0.0]() mutable { return n += 0.5; });
  expect_as_root_writes({histogram});
}

TEST_F(HistogramFileTest, RootAddsObjectsToAFile) {
  const Histogram histogram{"m/h", "t", {equal_axis(4)}, HistogramStorage::weights};
  const std::vector<HistogramContent> contents{histogram.with_sums()};
  write_histograms(path("h.root"), contents);
  const TNamed note{"note", "added"};
  {
    TFile file{path("h.root").c_str(), "UPDATE"};
    EXPECT_FALSE(file.IsZombie());
    EXPECT_FALSE(file.TestBit(TFile::kRecovered));
    file.WriteTObject(&note);
  }
  TFile file{path("h.root").c_str()};
  EXPECT_NE(file.Get<TNamed>("note"), nullptr);
  EXPECT_EQ(file.Get<TH1D>("m/h")->GetBinContent(2), histogram.sums[2]);
}

}  // namespace
}  // namespace forkrun::root_io
