#pragma once

#include <forkrun/formats/root_histograms/histogram_content.hpp>

namespace forkrun::root_io {

/// Sums over the bins of a histogram, flow bins left out, from which ROOT computes means and widths
/// along its axes. x, y, z: the bin's centre, or 0 on an axis with labels; s: samples of a profile.
struct Moments {
  double w{}, w2{}, wx{}, wx2{}, wy{}, wy2{}, wxy{}, wz{}, wz2{}, wxz{}, wyz{}, ws{}, ws2{};
};

/// Of 1, 2 or 3 axes; rounded as ROOT's TH1::ResetStats rounds.
[[nodiscard]] Moments moments_of(const HistogramContent& content);

}  // namespace forkrun::root_io
