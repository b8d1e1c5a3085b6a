#pragma once

#include <chrono>
#include <cstdint>

namespace forkrun {

/// What a thread has spent on the bytes of files since it began.
struct ByteCosts {
  struct Kind {
    std::int64_t n{};
    std::int64_t n_bytes{};
    std::int64_t ns{};
  };
  Kind read;
  Kind unzip;  ///< bytes: unpacked ones
};

/// Of this thread.
[[nodiscard]] ByteCosts& byte_costs();

/// Adds the time of a call, and what it is about. Two readings of the clock, for a basket each.
class ByteCost {
 public:
  ByteCost(ByteCosts::Kind& of, std::int64_t n, std::int64_t n_bytes) : of_{of} {
    of_.n += n;
    of_.n_bytes += n_bytes;
  }
  ByteCost(const ByteCost&) = delete;
  ByteCost& operator=(const ByteCost&) = delete;
  ~ByteCost() {
    of_.ns += std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  ByteCosts::Kind& of_;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace forkrun
