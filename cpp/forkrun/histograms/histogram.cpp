#include <forkrun/histograms/histogram.hpp>

#include <algorithm>
#include <utility>

#include <forkrun/core/data/counted.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/histograms/cell_table.hpp>

namespace forkrun {

namespace {

constexpr std::size_t most_cells = 1'000'000'000;
/// Limit for all copies together: about the size of a processor's caches.
constexpr std::size_t most_copied_bytes = 16 << 20;

}  // namespace

Histogram::Histogram(std::string name, std::string title, Moments moments,
                     std::vector<AxisDescription> axes)
    : name_{std::move(name)}, title_{std::move(title)}, moments_{moments}, axes_{std::move(axes)} {
  for (std::size_t number = 0; const auto& axis : axes_) {
    const auto problem = axis.problem();
    if (!problem.empty()) {
      const auto title_of_axis = axis.title.empty() ? std::string{} : " \"" + axis.title + "\"";
      refuse("axis " + std::to_string(number) + title_of_axis + " " + problem);
    }
    ++number;
  }
  std::size_t n = 1;
  for (const auto& axis : axes_) {
    if (axis.extent() > most_cells / std::max<std::size_t>(n, 1)) {
      refuse("there are more than " + std::to_string(most_cells) + " bins");
    }
    n *= axis.extent();
  }
}

void Histogram::refuse(const std::string& problem) const {
  throw Error{"histogram \"" + name_ + "\": " + problem};
}

std::size_t Histogram::n_cells() const {
  std::size_t n = 1;
  for (const auto& axis : axes_) {
    n *= axis.extent();
  }
  return n;
}

std::size_t Histogram::n_bytes_of_table() const { return CellTable::n_bytes(moments_, n_cells()); }

void Histogram::share(std::size_t n_threads) {
  if (std::ranges::any_of(axes_, &AxisDescription::grows)) {
    memory_ = HistogramMemory::copy;
  } else if (wanted_memory_ != HistogramMemory::automatic) {
    memory_ = wanted_memory_;
  } else {
    memory_ = n_threads * n_bytes_of_table() <= most_copied_bytes ? HistogramMemory::copy
                                                                  : HistogramMemory::buffered;
  }
  make_room_for_threads();
}

void Histogram::set_sparse() {
  if (n_sums_of(moments_) > 2) {
    refuse("it is a profile, and ROOT has no sparse profile");
  }
  is_sparse_ = true;
}

void Histogram::fill(std::span<const double> coordinates, double weight) {
  if (coordinates.size() != axes_.size()) {
    refuse("it has " + counted(axes_.size(), "axis", "axes") + ", but is filled with " +
           counted(coordinates.size(), "coordinate"));
  }
  fill_numbers(coordinates, weight);
}

std::span<const double> Histogram::rounded(std::size_t number) {
  rounded_ = parts().front().sums.rounded();
  const std::size_t n = rounded_.size() / n_sums_of(moments_);
  return std::span{rounded_}.subspan(number * n, n);
}

std::string_view name_of(HistogramMemory memory) {
  switch (memory) {
    case HistogramMemory::copy: return "copy";
    case HistogramMemory::shared: return "shared";
    case HistogramMemory::buffered: return "buffered";
    default: return "one table";
  }
}

}  // namespace forkrun
