#pragma once

#include <string_view>

#include <forkrun/formats/root_file/object_writer.hpp>
#include <forkrun/formats/root_histograms/histogram_content.hpp>

namespace forkrun::root_io {

/// Attributes for drawing an axis, like ROOT's TAttAxis; offsets and sizes in parts of the pad.
struct AxisStyle {
  std::int32_t n_divisions{};
  std::int16_t color{};  ///< of the axis and its labels
  std::int16_t label_font{};
  float label_offset{};
  float label_size{};
  float tick_length{};
  float title_offset{};  ///< relative to the usual one
  float title_size{};
};

/// A TAxis.
void write_axis(ObjectWriter& to, std::string_view name, const AxisContent& axis,
                const AxisStyle& style);

}  // namespace forkrun::root_io
