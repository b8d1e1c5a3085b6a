#include <forkrun/replay/fill_ways.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include <forkrun/concurrency/cpu_clock.hpp>
#include <forkrun/histograms/histogram_of.hpp>

namespace forkrun::replay {

namespace {

using PartOfFills = std::function<void(std::size_t first, std::size_t last)>;

void in_parts(std::size_t n, std::size_t n_threads, const PartOfFills& body) {
  std::vector<std::jthread> threads;
  for (std::size_t t = 1; t < n_threads; ++t) {
    threads.emplace_back(body, n * t / n_threads, n * (t + 1) / n_threads);
  }
  body(0, n / n_threads);
}

/// Table filled in published ways: doubles, Σw and Σw², or the number of entries.
class Tables {
 public:
  Tables(const Entries& entries, const FillCase& of) : entries_{entries}, case_{of} {}

  [[nodiscard]] std::vector<double> make() const {
    const auto n = case_.n_bins + 2;
    return std::vector<double>((case_.is_weighted ? 2 : 1) * (case_.n_axes == 1 ? n : n * n));
  }
  [[nodiscard]] std::size_t cell(std::size_t entry) const {
    const auto x = bin(entries_.x[entry]);
    return case_.n_axes == 1 ? x : x + (case_.n_bins + 2) * bin(entries_.y[entry]);
  }
  void add(std::vector<double>& table, std::size_t cell, double w) const {
    if (case_.is_weighted) {
      table[2 * cell] += w;
      table[2 * cell + 1] += w * w;
    } else {
      table[cell] += 1;
    }
  }

 private:
  [[nodiscard]] std::size_t bin(double x) const {
    return x < 0   ? 0
           : x < 1 ? 1 + static_cast<std::size_t>(x * static_cast<double>(case_.n_bins))
                   : case_.n_bins + 1;
  }

  const Entries& entries_;
  FillCase case_;
};

void fill_copies(const Entries& entries, const FillCase& of, std::size_t n_threads) {
  const Tables tables{entries, of};
  auto total = tables.make();
  std::mutex mutex;
  in_parts(entries.x.size(), n_threads, [&](std::size_t first, std::size_t last) {
    auto own = tables.make();
    for (auto i = first; i < last; ++i) {
      tables.add(own, tables.cell(i), entries.w[i]);
    }
    const std::scoped_lock lock{mutex};
    std::ranges::transform(own, total, total.begin(), std::plus<>{});
  });
}

void fill_with_lock(const Entries& entries, const FillCase& of, std::size_t n_threads) {
  const Tables tables{entries, of};
  auto table = tables.make();
  std::atomic_flag is_locked;
  in_parts(entries.x.size(), n_threads, [&](std::size_t first, std::size_t last) {
    for (auto i = first; i < last; ++i) {
      const auto cell = tables.cell(i);
      while (is_locked.test_and_set(std::memory_order_acquire)) {
        std::this_thread::yield();
      }
      tables.add(table, cell, entries.w[i]);
      is_locked.clear(std::memory_order_release);
    }
  });
}

void fill_with_buffers(const Entries& entries, const FillCase& of, std::size_t n_threads) {
  constexpr std::size_t n_buffered = 1024;
  const Tables tables{entries, of};
  auto table = tables.make();
  std::mutex mutex;
  in_parts(entries.x.size(), n_threads, [&](std::size_t first, std::size_t last) {
    std::vector<std::pair<std::size_t, double>> buffer;
    buffer.reserve(n_buffered);
    const auto flush = [&] {
      const std::scoped_lock lock{mutex};
      for (const auto& [cell, w] : buffer) {
        tables.add(table, cell, w);
      }
      buffer.clear();
    };
    for (auto i = first; i < last; ++i) {
      buffer.emplace_back(tables.cell(i), entries.w[i]);
      if (buffer.size() == n_buffered) {
        flush();
      }
    }
    flush();
  });
}

/// `fill(histogram or filler, entry)`.
template <bool LOOPS, typename Histogram, typename Fill>
void fill_exactly(Histogram& histogram, std::size_t n, std::size_t n_threads, const Fill& fill) {
  if (n_threads > 1) {
    histogram.share(n_threads);
  }
  in_parts(n, n_threads, [&](std::size_t first, std::size_t last) {
    const auto fill_all = [&](auto& target) {
      for (auto i = first; i < last; ++i) {
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
  (void)histogram.parts();
}

template <bool LOOPS>
void fill_exact(const Entries& entries, const FillCase& of, std::size_t n_threads) {
  const RegularAxis axis{static_cast<std::uint32_t>(of.n_bins), 0, 1};
  const auto n = entries.x.size();
  const auto fill = [&](auto& histogram, const auto& weighted, const auto& counted) {
    of.is_weighted ? fill_exactly<LOOPS>(histogram, n, n_threads, weighted)
                   : fill_exactly<LOOPS>(histogram, n, n_threads, counted);
  };
  const auto& [x, y, w] = entries;
  if (of.n_axes == 1) {
    HistogramOf histogram{"h", "", axis};
    fill(
        histogram, [&](auto& h, std::size_t i) { h.fill(x[i], w[i]); },
        [&](auto& h, std::size_t i) { h.fill(x[i]); });
  } else {
    HistogramOf histogram{"h", "", axis, axis};
    fill(
        histogram, [&](auto& h, std::size_t i) { h.fill(x[i], y[i], w[i]); },
        [&](auto& h, std::size_t i) { h.fill(x[i], y[i]); });
  }
}

void fill_in_way(const Entries& entries, const FillCase& of, FillWay way, std::size_t n_threads) {
  switch (way) {
    case FillWay::copy: fill_copies(entries, of, n_threads); break;
    case FillWay::lock: fill_with_lock(entries, of, n_threads); break;
    case FillWay::buffer: fill_with_buffers(entries, of, n_threads); break;
    case FillWay::exact: fill_exact<true>(entries, of, n_threads); break;
    case FillWay::one_by_one: fill_exact<false>(entries, of, n_threads); break;
  }
}

}  // namespace

Entries::Entries(std::size_t n) {
  std::mt19937_64 random{1};
  std::uniform_real_distribution<double> flat;
  std::exponential_distribution<double> falling;
  for (auto* column : {&x, &y, &w}) {
    column->reserve(n);
  }
  for (std::size_t i = 0; i < n; ++i) {
    x.push_back(flat(random));
    y.push_back(flat(random));
    w.push_back(falling(random) + 0.01);
  }
}

FillTime time_fills(const Entries& entries, const FillCase& of, FillWay way,
                    std::size_t n_threads) {
  const auto start = std::chrono::steady_clock::now();
  const auto cpu_start_ns = process_cpu_ns();
  fill_in_way(entries, of, way, n_threads);
  const auto cpu_ns = process_cpu_ns() - cpu_start_ns;
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  return {taken.count(), 1e-9 * static_cast<double>(cpu_ns)};
}

}  // namespace forkrun::replay
