#include <forkrun/formats/root_histograms/histogram_record.hpp>

#include <array>
#include <cmath>

#include <forkrun/formats/root_histograms/histogram_content.hpp>

namespace forkrun::root_io {

namespace {

/// TAttAxis.
void write_style(ObjectWriter& to, const AxisStyle& style) {
  constexpr std::int16_t black = 1;
  constexpr std::int16_t helvetica = 42;
  to.object(4, [&] {
    to.numbers(style.n_divisions, style.color, style.color, style.label_font, style.label_offset,
               style.label_size, style.tick_length, style.title_offset, style.title_size, black,
               helvetica);
  });
}

/// Labels are numbered with their bins.
void write_labels(ObjectWriter& to, const std::vector<std::string>& labels) {
  to.pointer("THashList", [&] {
    to.object(5, [&] {
      to.base();
      to.text("");
      to.number(static_cast<std::int32_t>(labels.size()));
      for (std::uint32_t bin = 1; const auto& label : labels) {
        to.pointer("TObjString", [&] {
          to.object(1, [&] {
            to.base(0, bin++);
            to.text(label);
          });
        });
        to.text("");  // its option in the list
      }
    });
  });
}

/// Sums over the bins of a histogram, flow bins left out, from which ROOT computes means and widths
/// along its axes. x, y, z: the bin's centre, or 0 on an axis with labels; s: samples of a profile.
struct Moments {
  double w{}, w2{}, wx{}, wx2{}, wy{}, wy2{}, wxy{}, wz{}, wz2{}, wxz{}, wyz{}, ws{}, ws2{};
};

/// Without flow bins.
std::vector<double> centers_of(const AxisContent& axis) {
  std::vector<double> centers(axis.n_bins());
  if (!axis.labels.empty()) {
    return centers;
  }
  const auto& edges = axis.edges;
  const double width = (edges.back() - edges.front()) / static_cast<double>(axis.n_bins());
  for (std::size_t i = 0; i < centers.size(); ++i) {
    centers[i] = axis.has_equal_bins ? edges.front() + (static_cast<double>(i) + 0.5) * width
                                     : edges[i] + 0.5 * (edges[i + 1] - edges[i]);
  }
  return centers;
}

/// Cells of a histogram with this axis; without an axis there is one cell, at 0.
struct AxisOfCells {
  AxisOfCells(const HistogramContent& content, std::size_t number)
      : exists{number < content.axes.size()},
        centers{exists ? centers_of(content.axes[number]) : std::vector<double>(1)},
        n_cells{exists ? content.axes[number].n_cells() : 1} {}

  [[nodiscard]] std::size_t cell(std::size_t bin) const { return exists ? bin + 1 : 0; }

  bool exists;
  std::vector<double> centers;
  std::size_t n_cells;
};

class SumOverCells {
 public:
  explicit SumOverCells(const HistogramContent& content)
      : weights_{content.weights()},
        squares_{content.squared_weights()},
        samples_{content.is_profile() ? content.samples() : Sums{}},
        squared_samples_{content.is_profile() ? content.squared_samples() : Sums{}},
        squares_errors_{!content.is_profile() && content.axes.size() != 2} {}

  void add(std::size_t cell, double x, double y, double z) {
    add_weight(weights_[cell], x, y, z);
    sum_.w2 += squared_weight(cell);
    if (!samples_.empty()) {
      sum_.ws += samples_[cell];
      sum_.ws2 += squared_samples_[cell];
    }
  }
  [[nodiscard]] const Moments& sum() const { return sum_; }

 private:
  void add_weight(double w, double x, double y, double z) {
    sum_.w += w;
    sum_.wx += w * x;
    sum_.wx2 += w * x * x;
    sum_.wy += w * y;
    sum_.wy2 += w * y * y;
    sum_.wxy += w * x * y;
    sum_.wz += w * z;
    sum_.wz2 += w * z * z;
    sum_.wxz += w * x * z;
    sum_.wyz += w * y * z;
  }

  /// Squares that are not kept are those of weights 1.
  [[nodiscard]] double squared_weight(std::size_t cell) const {
    const double square = squares_.empty() ? weights_[cell] : squares_[cell];
    if (!squares_errors_) {
      return square;
    }
    const double error = std::sqrt(squares_.empty() ? std::abs(square) : square);
    return error * error;
  }

  Sums weights_;
  Sums squares_;
  Sums samples_;
  Sums squared_samples_;
  bool squares_errors_;  ///< like ROOT for one axis and three
  Moments sum_;
};

/// For 1, 2 or 3 axes; rounded like ROOT's TH1::ResetStats.
Moments moments_of(const HistogramContent& content) {
  const AxisOfCells x{content, 0};
  const AxisOfCells y{content, 1};
  const AxisOfCells z{content, 2};
  SumOverCells cells{content};
  for (std::size_t k = 0; k < z.centers.size(); ++k) {
    for (std::size_t j = 0; j < y.centers.size(); ++j) {
      for (std::size_t i = 0; i < x.centers.size(); ++i) {
        const auto cell = x.cell(i) + x.n_cells * (y.cell(j) + y.n_cells * z.cell(k));
        cells.add(cell, x.centers[i], y.centers[j], z.centers[k]);
      }
    }
  }
  return cells.sum();
}

constexpr std::int32_t none = 0;

/// Parts between semicolons; "#;" is a semicolon.
std::array<std::string, 4> parts_of(const std::string& title) {
  std::array<std::string, 4> parts;
  std::size_t number = 0;
  for (std::size_t i = 0; i < title.size(); ++i) {
    if (title[i] == ';' && number + 1 < parts.size()) {
      ++number;
    } else if (title.compare(i, 2, "#;") == 0) {
      parts.at(number) += title[++i];
    } else {
      parts.at(number) += title[i];
    }
  }
  return parts;
}

/// TAttLine, TAttFill, TAttMarker.
void write_attributes(ObjectWriter& to) {
  constexpr std::int16_t blue = 602, white = 0, black = 1;
  constexpr std::int16_t solid = 1, filled = 1001, dot = 1;
  to.object(2, [&] { to.numbers(blue, solid, std::int16_t{1}); });
  to.object(2, [&] { to.numbers(white, filled); });
  to.object(3, [&] { to.numbers(black, dot, 1.0F); });
}

void write_axes(ObjectWriter& to, const HistogramContent& content) {
  const std::array<const char*, 3> names{"xaxis", "yaxis", "zaxis"};
  const auto titles = parts_of(content.title);
  AxisStyle style{510, 1, 42, 0.005F, 0.035F, 0.03F, 1.0F, 0.035F};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const AxisContent absent{titles.at(i + 1), {0, 1}, true, {}};
    style.title_offset = i == 1 ? 0.0F : 1.0F;
    write_axis(to, names.at(i), i < content.axes.size() ? content.axes[i] : absent, style);
  }
}

void write_list_of_functions(ObjectWriter& to) {
  constexpr std::uint32_t is_locked = 1U << 16U;  // TCollection::kUseRWLock
  to.object(5, [&] {
    to.base(is_locked);
    to.text("");
    to.number(none);
  });
}

class HistogramRecord {
 public:
  HistogramRecord(ObjectWriter& to, const HistogramContent& content)
      : to_{to}, content_{content}, moments_{moments_of(content)} {}

  /// TH1D, TH2D or TH3D.
  void write_histogram(Sums values, Sums squares) {
    switch (content_.axes.size()) {
      case 1: return to_.object(3, [&] { write_th1(squares), to_.array(values); });
      case 2: return to_.object(4, [&] { write_th2(squares), to_.array(values); });
      default: return to_.object(4, [&] { write_th3(squares), to_.array(values); });
    }
  }

  /// TProfile, TProfile2D or TProfile3D.
  void write_profile() {
    to_.object(content_.axes.size() == 1 ? 7 : 8, [&] {
      write_histogram(content_.samples(), content_.squared_samples());
      to_.array(content_.weights());
      to_.number(none);       // errors are those of the mean
      to_.numbers(0.0, 0.0);  // samples have no limits
      to_.numbers(moments_.ws, moments_.ws2);
      to_.array(content_.squared_weights());
    });
  }

 private:
  void write_th1(Sums squares) {
    constexpr std::uint32_t is_cleaned_up = 8;  // TObject::kMustCleanup
    constexpr double no_limit = -1111;
    constexpr std::int32_t default_of_process = 2;
    to_.object(8, [&] {
      to_.named(content_.name.substr(content_.name.rfind('/') + 1), title_of(content_),
                is_cleaned_up);
      write_attributes(to_);
      to_.number(static_cast<std::int32_t>(content_.n_cells()));
      write_axes(to_, content_);
      to_.numbers(std::int16_t{0}, std::int16_t{1000});  // bars: their offset and width
      to_.numbers(content_.n_entries(), moments_.w, moments_.w2, moments_.wx, moments_.wx2);
      to_.numbers(no_limit, no_limit, 0.0);  // for drawing; and no normalization
      to_.array({});                         // no contours
      to_.array(squares);
      to_.text("");
      write_list_of_functions(to_);
      to_.numbers(none, std::uint8_t{0});     // no buffer
      to_.numbers(none, default_of_process);  // errors; whether moments include flow bins
    });
  }

  void write_th2(Sums squares) {
    to_.object(5, [&] {
      write_th1(squares);
      to_.numbers(1.0, moments_.wy, moments_.wy2, moments_.wxy);
    });
  }

  void write_th3(Sums squares) {
    to_.object(6, [&] {
      write_th1(squares);
      to_.object(1, [] {});  // TAtt3D
      to_.numbers(moments_.wy, moments_.wy2, moments_.wxy);
      to_.numbers(moments_.wz, moments_.wz2, moments_.wxz, moments_.wyz);
    });
  }

  ObjectWriter& to_;
  const HistogramContent& content_;
  Moments moments_;
};

}  // namespace

void write_axis(ObjectWriter& to, std::string_view name, const AxisContent& axis,
                const AxisStyle& style) {
  constexpr std::uint16_t alphanumeric_and_growing = 3;
  const bool has_labels = !axis.labels.empty();
  to.object(10, [&] {
    to.named(name, axis.title);
    write_style(to, style);
    to.numbers(static_cast<std::int32_t>(axis.n_bins()), axis.edges.front(), axis.edges.back());
    to.array(axis.has_equal_bins ? std::span<const double>{} : axis.edges);
    to.numbers(std::int32_t{0}, std::int32_t{0});  // no range of bins is chosen
    to.number(has_labels ? alphanumeric_and_growing : std::uint16_t{0});
    to.number(std::uint8_t{0});  // it is no axis of times
    to.text("");
    has_labels ? write_labels(to, axis.labels) : to.null("THashList");
    to.null("TList");  // no label has a style of its own
  });
}

std::string class_of(const HistogramContent& content) {
  const auto n = std::to_string(content.axes.size());
  if (content.is_profile()) {
    return n == "1" ? "TProfile" : "TProfile" + n + "D";
  }
  return "TH" + n + "D";
}

std::string title_of(const HistogramContent& content) { return parts_of(content.title)[0]; }

void write_histogram(ObjectWriter& to, const HistogramContent& content) {
  HistogramRecord record{to, content};
  content.is_profile() ? record.write_profile()
                       : record.write_histogram(content.weights(), content.squared_weights());
}

}  // namespace forkrun::root_io
