#include <forkrun/root_io/histogram_file.hpp>

#include <cmath>
#include <filesystem>
#include <memory>

#include <TFile.h>
#include <TH1D.h>
#include <TH2D.h>
#include <TH3D.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/root_io/output_file.hpp>

namespace forkrun::root_io {

namespace {

int n_bins(const std::vector<double>& edges) { return static_cast<int>(edges.size()) - 1; }

std::unique_ptr<TH1> make_histogram(const HistogramContent& content, const std::string& name) {
  const auto& edges = content.edges;
  const char* title = content.title.c_str();
  switch (edges.size()) {
    case 1: return std::make_unique<TH1D>(name.c_str(), title, n_bins(edges[0]), edges[0].data());
    case 2:
      return std::make_unique<TH2D>(name.c_str(), title, n_bins(edges[0]), edges[0].data(),
                                    n_bins(edges[1]), edges[1].data());
    case 3:
      return std::make_unique<TH3D>(name.c_str(), title, n_bins(edges[0]), edges[0].data(),
                                    n_bins(edges[1]), edges[1].data(), n_bins(edges[2]),
                                    edges[2].data());
    default:
      throw OutputError("histogram \"" + content.name + "\" has " + std::to_string(edges.size()) +
                        " axes; 1, 2 or 3 can be written to a ROOT file");
  }
}

void fill(TH1& histogram, const HistogramContent& content) {
  const auto& edges = content.edges;
  const auto size = [&](std::size_t axis) {
    return axis < edges.size() ? n_bins(edges[axis]) + 2 : 1;
  };
  std::size_t i = 0;
  double sum = 0;
  for (int x = 0; x < size(0); ++x) {
    for (int y = 0; y < size(1); ++y) {
      for (int z = 0; z < size(2); ++z, ++i) {
        const int bin = histogram.GetBin(x, y, z);
        histogram.SetBinContent(bin, content.values[i]);
        histogram.SetBinError(bin, std::sqrt(content.variances[i]));
        sum += content.values[i];
      }
    }
  }
  histogram.ResetStats();
  histogram.SetEntries(sum);
}

void check_sizes(const HistogramContent& content) {
  std::size_t expected = 1;
  for (const auto& edges : content.edges) {
    expected *= edges.size() + 1;
  }
  if (content.values.size() != expected || content.variances.size() != expected) {
    throw OutputError("histogram \"" + content.name + "\" has " +
                      std::to_string(content.values.size()) + " values where its axes give " +
                      std::to_string(expected));
  }
}

void write(OutputFile& file, const HistogramContent& content) {
  check_sizes(content);
  const auto name = content.name.substr(content.name.rfind('/') + 1);
  const auto histogram = make_histogram(content, name);
  histogram->SetDirectory(nullptr);
  histogram->Sumw2();
  TAxis* const axes[] = {histogram->GetXaxis(), histogram->GetYaxis(), histogram->GetZaxis()};
  for (std::size_t i = 0; i < content.axis_titles.size() && i < content.edges.size(); ++i) {
    axes[i]->SetTitle(content.axis_titles[i].c_str());
  }
  fill(*histogram, content);
  file.folder_of(content.name).WriteTObject(histogram.get(), name.c_str());
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
