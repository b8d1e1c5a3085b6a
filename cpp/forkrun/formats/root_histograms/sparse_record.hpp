#pragma once

#include <forkrun/formats/root_file/object_writer.hpp>
#include <forkrun/formats/root_histograms/histogram_content.hpp>

namespace forkrun::root_io {

/// A THnSparseD of the cells with content, in order.
void write_sparse(ObjectWriter& to, const HistogramContent& content);

/// Bytes of a sparse histogram's cells in its object.
[[nodiscard]] std::size_t n_sparse_bytes(const HistogramContent& content);

}  // namespace forkrun::root_io
