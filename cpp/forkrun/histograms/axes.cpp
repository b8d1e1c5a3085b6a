#include <forkrun/histograms/axes.hpp>

#include <set>
#include <type_traits>
#include <utility>

namespace forkrun {

namespace {

AxisDescription described(AxisKind kind, const std::string& title, std::vector<double> numbers,
                          AxisOptions options) {
  return {kind, title, std::move(numbers), {}, options.underflow, options.overflow, false, 0};
}

/// A circle has no end, so there is neither underflow nor overflow.
AxisOptions on_circle(AxisOptions options, bool has_overflow) {
  return options.circular ? AxisOptions{false, has_overflow, true} : options;
}

bool increase(const std::vector<double>& edges) {
  return edges.size() > 1 && std::ranges::none_of(edges, [](double x) { return std::isnan(x); }) &&
         std::ranges::adjacent_find(edges, std::greater_equal<>{}) == edges.end();
}

template <typename T>
bool are_distinct(const std::vector<T>& values) {
  return std::set<T>(values.begin(), values.end()).size() == values.size();
}

}  // namespace

std::size_t AxisDescription::n_bins() const {
  switch (kind) {
    case AxisKind::regular: return static_cast<std::size_t>(numbers[0]);
    case AxisKind::variable: return numbers.size() - 1;
    case AxisKind::integer: return static_cast<std::size_t>(numbers[1] - numbers[0]);
    default: return std::max(numbers.size(), texts.size());
  }
}

std::string AxisDescription::problem() const {
  switch (kind) {
    case AxisKind::regular:
      return numbers[0] >= 1 && numbers[1] < numbers[2] ? ""
                                                        : "needs at least one bin and low < high";
    case AxisKind::variable:
      return increase(numbers) ? "" : "needs edges that increase, at least two";
    case AxisKind::integer: return numbers[0] < numbers[1] ? "" : "needs start < stop";
    default: break;
  }
  if (!are_distinct(texts) || !are_distinct(numbers)) {
    return "has a category twice";
  }
  return grows || n_bins() > 0 ? "" : "needs a category, or Growth::growing";
}

RegularAxis::RegularAxis(std::uint32_t n_bins, double low, double high, std::string title,
                         AxisOptions options)
    : low_{low},
      width_{high - low},
      n_bins_{static_cast<std::int32_t>(n_bins)},
      options_{on_circle(options, true)},
      high_{high},
      title_{std::move(title)} {}

AxisDescription RegularAxis::describe() const {
  return described(AxisKind::regular, title_, {static_cast<double>(n_bins_), low_, high_},
                   options_);
}

VariableAxis::VariableAxis(std::vector<double> edges, std::string title, AxisOptions options)
    : edges_{std::move(edges)}, options_{on_circle(options, true)}, title_{std::move(title)} {}

AxisDescription VariableAxis::describe() const {
  return described(AxisKind::variable, title_, edges_, options_);
}

IntegerAxis::IntegerAxis(std::int32_t start, std::int32_t stop, std::string title,
                         AxisOptions options)
    : start_{start}, stop_{stop}, options_{on_circle(options, false)}, title_{std::move(title)} {}

AxisDescription IntegerAxis::describe() const {
  return described(AxisKind::integer, title_,
                   {static_cast<double>(start_), static_cast<double>(stop_)}, options_);
}

template <typename View, typename Key>
CategoryAxis<View, Key>::CategoryAxis(std::vector<Key> categories, std::string title, Growth growth)
    : categories_{std::move(categories)},
      n_declared_{categories_.size()},
      title_{std::move(title)},
      growth_{growth} {
  for (std::int32_t place = 0; const auto& category : categories_) {
    places_.emplace(category, place++);
  }
}

template <typename View, typename Key>
void CategoryAxis<View, Key>::append(View category) {
  places_.emplace(category, static_cast<std::int32_t>(categories_.size()));
  categories_.emplace_back(category);
}

template <typename View, typename Key>
AxisDescription CategoryAxis<View, Key>::describe() const {
  AxisDescription axis{AxisKind::category, title_, {}, {}, false, !grows(), grows(), n_declared_};
  if constexpr (std::is_same_v<Key, std::string>) {
    axis.texts = categories_;
  } else {
    axis.numbers.assign(categories_.begin(), categories_.end());
  }
  return axis;
}

template class CategoryAxis<std::string_view, std::string>;
template class CategoryAxis<std::int32_t, std::int32_t>;

}  // namespace forkrun
