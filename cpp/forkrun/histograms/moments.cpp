#include <forkrun/histograms/moments.hpp>

#include <algorithm>

#include <forkrun/histograms/moments_in_doubles.hpp>
#include <forkrun/histograms/vectorised.hpp>

namespace forkrun {

namespace {

FORKRUN_VECTORISED
void multiply_columns(const double* one, const double* other, std::size_t n, double* products) {
  for (std::size_t i = 0; i < n; ++i) {
    products[i] = one[i] * other[i];
  }
}

}  // namespace

std::size_t n_sums_of(Moments moments) {
  return std::size_t{1} + (has_squares(moments) ? 1 : 0) + (has_samples(moments) ? 2 : 0);
}

MomentColumns::MomentColumns(Moments moments, const CellFills& fills) {
  const std::size_t n = fills.cells.size();
  columns_[n_columns_++] = fills.weights;
  if (has_squares(moments)) {
    multiply(fills.weights, fills.weights, n);
  }
  if (has_samples(moments)) {
    multiply(fills.weights, fills.samples, n);
    multiply(columns_[n_columns_ - 1], fills.samples, n);
  }
}

void MomentColumns::multiply(const double* one, const double* other, std::size_t n) {
  double* const products = products_[n_products_++].data();
  multiply_columns(one, other, n, products);
  columns_[n_columns_++] = products;
}

void add_moments(ExactSums& sums, Moments moments, const CellFills& fills) {
  for (std::size_t first = 0; first < fills.cells.size(); first += most_moments) {
    const auto some = fills.part(first, std::min(most_moments, fills.cells.size() - first));
    if (!has_samples(moments) || !add_in_doubles(sums, moments, some)) {
      const MomentColumns columns{moments, some};
      sums.add(some.cells, columns.columns());
    }
  }
}

}  // namespace forkrun
