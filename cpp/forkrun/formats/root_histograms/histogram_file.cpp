#include <forkrun/formats/root_histograms/histogram_file.hpp>

#include <forkrun/formats/root_file/plain_file.hpp>
#include <forkrun/formats/root_histograms/histogram_record.hpp>
#include <forkrun/formats/root_histograms/sparse_record.hpp>

namespace forkrun::root_io {

namespace {

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

}  // namespace forkrun::root_io
