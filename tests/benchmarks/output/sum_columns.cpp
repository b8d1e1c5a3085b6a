// Sums of columns by RDataFrame, of numbers in lists; typed, so nothing is compiled at run time.
//     sum_columns FILE TREE REPEATS NAME:TYPE...      prints wall and CPU seconds of the loop alone
//     per repeat, then each sum. TYPE: f, d or i

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include <ROOT/RDataFrame.hxx>

namespace {

using Sum = ROOT::RDF::RResultPtr<double>;

template <typename T>
Sum sum_of(ROOT::RDataFrame& events, const std::string& name) {
  const auto add = [](double sum, const ROOT::RVec<T>& values) {
    for (const auto value : values) {
      sum += static_cast<double>(value);
    }
    return sum;
  };
  const auto join = [](double one, double other) { return one + other; };
  return events.Aggregate(add, join, name, 0.0);
}

std::vector<Sum> sums_of(ROOT::RDataFrame& events, int n_names, char** names) {
  std::vector<Sum> sums;
  for (int i = 0; i < n_names; ++i) {
    const std::string told{names[i]};
    const auto end = told.rfind(':');
    const auto name = told.substr(0, end);
    sums.push_back(told[end + 1] == 'f'   ? sum_of<float>(events, name)
                   : told[end + 1] == 'd' ? sum_of<double>(events, name)
                                          : sum_of<int>(events, name));
  }
  return sums;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: sum_columns FILE TREE REPEATS NAME:TYPE...\n");
    return 2;
  }
  std::vector<double> values;
  for (int repeat = 0; repeat < std::atoi(argv[3]); ++repeat) {
    ROOT::RDataFrame events{argv[2], argv[1]};
    auto sums = sums_of(events, argc - 4, argv + 4);
    const std::clock_t cpu_start = std::clock();
    const auto start = std::chrono::steady_clock::now();
    *sums.front();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    const double cpu = static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC;
    std::printf("%.6f %.6f\n", taken.count(), cpu);
    values.clear();
    for (auto& sum : sums) {
      values.push_back(*sum);
    }
  }
  for (const auto value : values) {
    std::printf("%.17g\n", value);
  }
  return 0;
}
