// Adds the squares of the numbers below 1000, ten parts on four threads.
#include <forkrun/concurrency/executor.hpp>

#include <cstdio>
#include <numeric>
#include <vector>

int main() {
  const auto executor = forkrun::make_executor(4);
  std::vector<long> sums(10);
  executor->for_each(sums.size(), [&](std::size_t part) {
    const auto first = 100 * static_cast<long>(part);
    for (auto number = first; number < first + 100; ++number) {
      sums[part] += number * number;
    }
  });
  std::printf("%ld\n", std::accumulate(sums.begin(), sums.end(), 0L));
}
