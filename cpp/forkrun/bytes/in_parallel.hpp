#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace forkrun {

/// Number of threads to start, of so many, for copying so many bytes: starting them takes as long
/// as copying some hundred kB.
inline std::size_t n_threads_worth(double n_bytes, std::size_t n_threads) {
  constexpr double worth_threads = 1 << 18;
  return n_bytes < worth_threads ? 1 : n_threads;
}

/// Calls body(0) … body(n - 1) on at most so many threads, including this one; throws the exception
/// of the lowest number.
template <typename Body>
void in_parallel(std::size_t n, std::size_t n_threads, const Body& body) {
  std::vector<std::exception_ptr> errors(n);
  std::atomic<std::size_t> next{};
  const auto work = [&] {
    for (auto i = next++; i < n; i = next++) {
      try {
        body(i);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  };
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < std::min(n, n_threads); ++i) {
    try {
      threads.emplace_back(work);
    } catch (const std::system_error&) {  // No more can be started: the others do it.
      break;
    }
  }
  work();
  threads.clear();  // joins them
  if (const auto error = std::ranges::find_if(errors, [](const auto& e) { return e != nullptr; });
      error != errors.end()) {
    std::rethrow_exception(*error);
  }
}

}  // namespace forkrun
