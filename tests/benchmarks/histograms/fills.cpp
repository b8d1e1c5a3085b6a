// Fills of ROOT's histograms, one entry at a time, in one thread.
//
//     fills N_FILLS N_TURNS
//
// Prints a line for each: number of axes, bins of each, weighted (0 or 1), way, million fills per
// second, CPU time per fill [ns]: the best of the turns, in a random order.

#include <TH1D.h>
#include <TH2D.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace {

struct Study {
  int n_axes;
  int n_bins;
  bool is_weighted;
  std::vector<double> x, y, w;
};

void root_fill(const Study& s) {
  if (s.n_axes == 1) {
    TH1D h{"h", "", s.n_bins, 0, 1};
    s.is_weighted ? h.Sumw2() : void();
    for (std::size_t i = 0; i < s.x.size(); ++i) {
      s.is_weighted ? h.Fill(s.x[i], s.w[i]) : h.Fill(s.x[i]);
    }
  } else {
    TH2D h{"h", "", s.n_bins, 0, 1, s.n_bins, 0, 1};
    s.is_weighted ? h.Sumw2() : void();
    for (std::size_t i = 0; i < s.x.size(); ++i) {
      s.is_weighted ? h.Fill(s.x[i], s.y[i], s.w[i]) : h.Fill(s.x[i], s.y[i]);
    }
  }
}

void root_fill_n(const Study& s) {
  const double* const w = s.is_weighted ? s.w.data() : nullptr;
  const auto n = static_cast<int>(s.x.size());
  if (s.n_axes == 1) {
    TH1D h{"h", "", s.n_bins, 0, 1};
    s.is_weighted ? h.Sumw2() : void();
    h.FillN(n, s.x.data(), w);
  } else {
    TH2D h{"h", "", s.n_bins, 0, 1, s.n_bins, 0, 1};
    s.is_weighted ? h.Sumw2() : void();
    h.FillN(n, s.x.data(), s.y.data(), w);
  }
}

struct Seconds {
  double wall;
  double cpu;  ///< of all threads
};
double cpu_now() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }
Seconds seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  const double cpu = cpu_now();
  work();
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
          cpu_now() - cpu};
}

void measure(const Study& s, int n_turns) {
  using Way = void (*)(const Study&);
  std::vector<std::pair<const char*, Way>> ways{{"TH1::Fill", root_fill},
                                                {"TH1::FillN", root_fill_n}};
  std::map<const char*, Seconds> best;
  std::mt19937 random{1};
  for (int turn = 0; turn < n_turns; ++turn) {
    for (const auto& [name, way] : ways) {
      const auto [wall, cpu] = seconds_of([&] { way(s); });
      auto& [least_wall, least_cpu] = best.try_emplace(name, wall, cpu).first->second;
      least_wall = std::min(least_wall, wall);
      least_cpu = std::min(least_cpu, cpu);
    }
    std::ranges::shuffle(ways, random);  // memory that one has just given back is taken faster
  }
  for (const auto& [name, way] : ways) {
    const auto n = static_cast<double>(s.x.size());
    std::printf("%d %d %d %s %.2f %.2f\n", s.n_axes, s.n_bins, int{s.is_weighted}, name,
                1e-6 * n / best[name].wall, 1e9 * best[name].cpu / n);
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  TH1::AddDirectory(false);
  const auto n_fills = static_cast<std::size_t>(std::atol(argv[1]));
  Study study{1, 10, false, {}, {}, {}};
  std::mt19937_64 random{1};
  std::uniform_real_distribution<double> flat;
  std::exponential_distribution<double> falling;
  for (std::size_t i = 0; i < n_fills; ++i) {
    study.x.push_back(flat(random));
    study.y.push_back(flat(random));
    study.w.push_back(falling(random) + 0.01);
  }
  for (const auto& [n_axes, n_bins] :
       {std::pair{1, 10}, {1, 100}, {1, 10'000}, {2, 100}, {2, 1000}}) {
    for (const bool is_weighted : {false, true}) {
      study.n_axes = n_axes;
      study.n_bins = n_bins;
      study.is_weighted = is_weighted;
      measure(study, std::atoi(argv[2]));
    }
  }
}
