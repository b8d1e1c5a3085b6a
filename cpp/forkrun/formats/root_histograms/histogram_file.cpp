#include <forkrun/formats/root_histograms/histogram_file.hpp>

#include <memory>

#include <TFile.h>
#include <TH1.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/data/nearest_name.hpp>
#include <forkrun/formats/root_file/directory_keys.hpp>
#include <forkrun/formats/root_file/input_file.hpp>
#include <forkrun/formats/root_file/plain_file.hpp>
#include <forkrun/formats/root_histograms/histogram_record.hpp>
#include <forkrun/formats/root_histograms/sparse_record.hpp>

namespace forkrun::root_io {

namespace {

std::string there_are(const std::string& name, TFile& file) {
  std::vector<std::string> names;
  for_each_object(file, [&](const std::string& path, const TKey& /*key*/, const TClass* type) {
    if (type != nullptr && type->InheritsFrom(TH1::Class())) {
      names.push_back(path);
    }
  });
  if (names.empty()) {
    return "; it contains no histogram";
  }
  auto hint = nearest_name_hint(name, names);
  if (!hint.empty()) {
    return hint;
  }
  std::string text = "; its histograms are";
  for (std::size_t i = 0; i < names.size() && i < 12; ++i) {
    text += (i == 0 ? " " : ", ") + names[i];
  }
  return text + (names.size() > 12 ? " and others" : "");
}

std::vector<double> edges_of(const TAxis& axis) {
  std::vector<double> edges;
  for (int bin = 1; bin <= axis.GetNbins() + 1; ++bin) {
    edges.push_back(axis.GetBinLowEdge(bin));
  }
  return edges;
}

void read_bins(const TH1& histogram, StoredHistogram& stored) {
  const auto size = [&](std::size_t axis) {
    return axis < stored.edges.size() ? static_cast<int>(stored.edges[axis].size()) + 1 : 1;
  };
  for (int x = 0; x < size(0); ++x) {
    for (int y = 0; y < size(1); ++y) {
      for (int z = 0; z < size(2); ++z) {
        const int bin = histogram.GetBin(x, y, z);
        const double error = histogram.GetBinError(bin);
        stored.values.push_back(histogram.GetBinContent(bin));
        stored.variances.push_back(error * error);
      }
    }
  }
}

void write(PlainFile& file, const HistogramContent& content) {
  content.check();
  const bool is_sparse = content.is_written_sparse();
  const auto type = is_sparse ? "THnSparseT<TArrayD>" : class_of(content);
  file.add(content.name, type, title_of(content), [&](ObjectWriter& to) {
    is_sparse ? write_sparse(to, content) : write_histogram(to, content);
  });
}

}  // namespace

void write_histograms(const std::string& path, std::span<const HistogramContent> histograms) {
  PlainFile file{path, Compression::parse("zlib:1")};
  for (const auto& content : histograms) {
    write(file, content);
  }
  file.close();
}

StoredHistogram read_histogram(const std::string& path, const std::string& name) {
  const InputFile input{path};
  const CapturedMessages messages;
  auto* key = find_object(input.file(), name);
  const std::unique_ptr<TH1> histogram{key == nullptr ? nullptr : key->ReadObject<TH1>()};
  if (!histogram) {
    throw InputError("unknown histogram \"" + name + "\"" + there_are(name, input.file()));
  }
  histogram->SetDirectory(nullptr);
  StoredHistogram stored;
  stored.title = histogram->GetTitle();
  const TAxis* const axes[] = {histogram->GetXaxis(), histogram->GetYaxis(), histogram->GetZaxis()};
  for (int axis = 0; axis < histogram->GetDimension(); ++axis) {
    stored.edges.push_back(edges_of(*axes[axis]));
    stored.axis_titles.emplace_back(axes[axis]->GetTitle());
  }
  read_bins(*histogram, stored);
  return stored;
}

}  // namespace forkrun::root_io
