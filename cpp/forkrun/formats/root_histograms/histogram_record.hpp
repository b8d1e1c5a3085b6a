#pragma once

#include <string>
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

/// ROOT's class for a histogram of 1, 2 or 3 axes that is not sparse.
[[nodiscard]] std::string class_of(const HistogramContent& content);
/// The first part of its title: the others are titles of axes.
[[nodiscard]] std::string title_of(const HistogramContent& content);

/// The object of that class, without folders in its name. Drawing attributes are those of ROOT's
/// style "Modern".
void write_histogram(ObjectWriter& to, const HistogramContent& content);

}  // namespace forkrun::root_io
