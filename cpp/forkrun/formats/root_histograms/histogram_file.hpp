#pragma once

#include <span>
#include <string>

#include <forkrun/formats/root_histograms/histogram_content.hpp>

namespace forkrun::root_io {

/// Writes a new file of TH1D, TProfile, their variants and THnSparseD, without ROOT. Moments: from
/// the centres of bins. \throws OutputError
void write_histograms(const std::string& path, std::span<const HistogramContent> histograms);

}  // namespace forkrun::root_io
