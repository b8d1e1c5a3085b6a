#include <forkrun/histograms/thread_number.hpp>

#include <algorithm>
#include <mutex>
#include <vector>

namespace forkrun {

constinit thread_local std::size_t claimed_thread_number = 0;

namespace {

/// Numbers of threads. Never destroyed: threads may outlive static objects.
struct Numbers {
  std::mutex mutex{};
  std::vector<bool> is_taken{true};  ///< 0 is no number
};

Numbers& numbers() {
  static auto* const all = new Numbers;
  return *all;
}

/// A thread's number, returned when the thread ends.
class Claim {
 public:
  Claim() {
    auto& [mutex, is_taken] = numbers();
    const std::scoped_lock lock{mutex};
    const auto free = std::ranges::find(is_taken, false);
    number_ = static_cast<std::size_t>(free - is_taken.begin());
    if (free == is_taken.end()) {
      is_taken.push_back(true);
    } else {
      *free = true;
    }
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  ~Claim() {
    auto& [mutex, is_taken] = numbers();
    const std::scoped_lock lock{mutex};
    is_taken[number_] = false;
    claimed_thread_number = 0;
  }
  [[nodiscard]] std::size_t number() const { return number_; }

 private:
  std::size_t number_;
};

}  // namespace

std::size_t claim_thread_number() {
  static thread_local const Claim claim;
  claimed_thread_number = std::min(claim.number(), most_threads + 1);
  return claimed_thread_number;
}

}  // namespace forkrun
