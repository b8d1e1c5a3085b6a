// Fills of histograms, one entry at a time, by threads: the three published ways (a copy for each
// thread, one table with a lock, one table with a buffer for each thread), whose sums are of
// doubles and depend on the order; forkrun's, whose sums are exact, through a filler of the loop
// and one by one; and ROOT's, in one thread.
//
//     fills N_FILLS N_TURNS THREADS...
//
// Prints a line for each: number of axes, bins of each, weighted (0 or 1), threads, way, million
// fills per second, CPU time of all threads per fill [ns]: the best of the turns, in a random
// order.

#include <TH1D.h>
#include <TH2D.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <forkrun/module.hpp>

namespace {

struct Study {
  int n_axes;
  int n_bins;
  bool is_weighted;
  std::vector<double> x, y, w;
  [[nodiscard]] std::size_t n_cells() const {
    const auto n = static_cast<std::size_t>(n_bins) + 2;
    return n_axes == 1 ? n : n * n;
  }
};

std::size_t bin(double x, int n_bins) {
  return x < 0 ? 0 : x < 1 ? 1 + static_cast<std::size_t>(x * n_bins) : n_bins + 1;
}
std::size_t cell(const Study& s, std::size_t i) {
  const auto b = bin(s.x[i], s.n_bins);
  return s.n_axes == 1 ? b : b + (s.n_bins + 2) * bin(s.y[i], s.n_bins);
}

/// Σw and Σw² if there are weights, else Σw.
using Table = std::vector<double>;
Table make_table(const Study& s) { return Table((s.is_weighted ? 2 : 1) * s.n_cells()); }
void add(const Study& s, Table& table, std::size_t cell, double w) {
  if (s.is_weighted) {
    table[2 * cell] += w;
    table[2 * cell + 1] += w * w;
  } else {
    table[cell] += 1;
  }
}

using Body = std::function<void(std::size_t first, std::size_t end)>;
void in_threads(std::size_t n, int n_threads, const Body& body) {
  std::vector<std::thread> threads;
  for (int t = 1; t < n_threads; ++t) {
    threads.emplace_back(body, n * t / n_threads, n * (t + 1) / n_threads);
  }
  body(0, n / n_threads);
  for (auto& thread : threads) {
    thread.join();
  }
}

void copies(const Study& s, int n_threads) {
  auto total = make_table(s);
  std::mutex mutex;
  in_threads(s.x.size(), n_threads, [&](std::size_t first, std::size_t end) {
    auto own = make_table(s);
    for (auto i = first; i < end; ++i) {
      add(s, own, cell(s, i), s.w[i]);
    }
    const std::scoped_lock lock{mutex};
    std::transform(own.begin(), own.end(), total.begin(), total.begin(), std::plus<>{});
  });
}

void with_lock(const Study& s, int n_threads) {
  auto table = make_table(s);
  std::atomic_flag is_locked;
  in_threads(s.x.size(), n_threads, [&](std::size_t first, std::size_t end) {
    for (auto i = first; i < end; ++i) {
      const auto place = cell(s, i);
      while (is_locked.test_and_set(std::memory_order_acquire)) {
        std::this_thread::yield();
      }
      add(s, table, place, s.w[i]);
      is_locked.clear(std::memory_order_release);
    }
  });
}

void with_buffers(const Study& s, int n_threads) {
  constexpr std::size_t n_buffered = 1024;
  auto table = make_table(s);
  std::mutex mutex;
  in_threads(s.x.size(), n_threads, [&](std::size_t first, std::size_t end) {
    std::vector<std::pair<std::uint32_t, double>> buffer;
    const auto flush = [&] {
      const std::scoped_lock lock{mutex};
      for (const auto& [place, w] : buffer) {
        add(s, table, place, w);
      }
      buffer.clear();
    };
    buffer.reserve(n_buffered);
    for (auto i = first; i < end; ++i) {
      buffer.emplace_back(static_cast<std::uint32_t>(cell(s, i)), s.w[i]);
      if (buffer.size() == n_buffered) {
        flush();
      }
    }
    flush();
  });
}

/// `fill(histogram, i)`: entry i. `LOOPS`: through a filler for each thread's loop.
template <bool LOOPS, typename Histogram, typename Fill>
void fill_exactly(Histogram& histogram, const Study& s, int n_threads, const Fill& fill) {
  if (n_threads > 1) {
    histogram.share(static_cast<std::size_t>(n_threads));
  }
  in_threads(s.x.size(), n_threads, [&](std::size_t first, std::size_t end) {
    const auto fill_all = [&](auto& target) {
      for (auto i = first; i < end; ++i) {
        fill(target, i);
      }
    };
    if constexpr (LOOPS) {
      auto filler = histogram.filler();
      fill_all(filler);
    } else {
      fill_all(histogram);
    }
  });
  if (histogram.parts().size() != 1) {
    std::abort();
  }
}

template <bool LOOPS>
void exact(const Study& s, int n_threads) {
  const forkrun::RegularAxis axis{static_cast<std::uint32_t>(s.n_bins), 0, 1};
  const auto fill = [&](auto& histogram, const auto& weighted, const auto& counted) {
    s.is_weighted ? fill_exactly<LOOPS>(histogram, s, n_threads, weighted)
                  : fill_exactly<LOOPS>(histogram, s, n_threads, counted);
  };
  if (s.n_axes == 1) {
    forkrun::HistogramOf histogram{"h", "", axis};
    fill(
        histogram, [&](auto& h, std::size_t i) { h.fill(s.x[i], s.w[i]); },
        [&](auto& h, std::size_t i) { h.fill(s.x[i]); });
  } else {
    forkrun::HistogramOf histogram{"h", "", axis, axis};
    fill(
        histogram, [&](auto& h, std::size_t i) { h.fill(s.x[i], s.y[i], s.w[i]); },
        [&](auto& h, std::size_t i) { h.fill(s.x[i], s.y[i]); });
  }
}

void root_fill(const Study& s, int) {
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

void root_fill_n(const Study& s, int) {
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

void measure(const Study& s, int n_threads, int n_turns) {
  using Way = void (*)(const Study&, int);
  std::vector<std::pair<const char*, Way>> ways{{"copy", copies},
                                                {"lock", with_lock},
                                                {"buffer", with_buffers},
                                                {"forkrun", exact<true>},
                                                {"one_by_one", exact<false>}};
  if (n_threads == 1) {
    ways.insert(ways.end(), {{"TH1::Fill", root_fill}, {"TH1::FillN", root_fill_n}});
  }
  std::map<const char*, Seconds> best;
  std::mt19937 random{1};
  for (int turn = 0; turn < n_turns; ++turn) {
    for (const auto& [name, way] : ways) {
      const auto [wall, cpu] = seconds_of([&] { way(s, n_threads); });
      auto& [least_wall, least_cpu] = best.try_emplace(name, wall, cpu).first->second;
      least_wall = std::min(least_wall, wall);
      least_cpu = std::min(least_cpu, cpu);
    }
    std::ranges::shuffle(ways, random);  // memory that one has just given back is taken faster
  }
  for (const auto& [name, way] : ways) {
    const auto n = static_cast<double>(s.x.size());
    std::printf("%d %d %d %d %s %.2f %.2f\n", s.n_axes, s.n_bins, int{s.is_weighted}, n_threads,
                name, 1e-6 * n / best[name].wall, 1e9 * best[name].cpu / n);
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
      for (int a = 3; a < argc; ++a) {
        study.n_axes = n_axes;
        study.n_bins = n_bins;
        study.is_weighted = is_weighted;
        measure(study, std::atoi(argv[a]), std::atoi(argv[2]));
      }
    }
  }
}
