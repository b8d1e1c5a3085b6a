#pragma once

#include <string>

#include <forkrun/formats/root_file/object_writer.hpp>
#include <forkrun/formats/root_histograms/histogram_content.hpp>

namespace forkrun::root_io {

/// ROOT's class for a histogram of 1, 2 or 3 axes that is not sparse.
[[nodiscard]] std::string class_of(const HistogramContent& content);
/// The first part of its title: the others are titles of axes.
[[nodiscard]] std::string title_of(const HistogramContent& content);

/// The object of that class, without folders in its name. Drawing attributes are those of ROOT's
/// style "Modern".
void write_histogram(ObjectWriter& to, const HistogramContent& content);

}  // namespace forkrun::root_io
