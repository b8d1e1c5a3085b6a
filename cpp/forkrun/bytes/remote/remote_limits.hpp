#pragma once

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace forkrun {

using RemoteSeconds = std::vector<std::chrono::seconds>;

/// Values of an environment variable, "30,60"; missing ones keep the defaults.
[[nodiscard]] inline RemoteSeconds seconds_of(const char* variable, RemoteSeconds given) {
  const char* text = std::getenv(variable);
  if (text == nullptr) {
    return given;
  }
  std::istringstream parts{text};
  RemoteSeconds all;
  for (std::string one; std::getline(parts, one, ',');) {
    all.emplace_back(std::max(std::atoi(one.c_str()), 0));
  }
  return all;
}

/// Time limits for a server.
struct RemoteLimits {
  std::chrono::seconds connection{30};  ///< for connecting
  std::chrono::seconds no_byte{60};     ///< while an answer is awaited
  RemoteSeconds pauses{};               ///< before repeating a failed request

  /// Changed by FORKRUN_REMOTE_LIMITS="30,60" and FORKRUN_REMOTE_PAUSES="5,30,120".
  [[nodiscard]] static const RemoteLimits& get() {
    static const auto limits = [] {
      using std::chrono::seconds;
      auto waits = seconds_of("FORKRUN_REMOTE_LIMITS", {seconds{30}, seconds{60}});
      waits.resize(std::max<std::size_t>(waits.size(), 2), waits.empty() ? seconds{60} : waits[0]);
      const seconds least{1};  // for curl and XrdCl 0 is no limit
      return RemoteLimits{
          std::max(waits[0], least), std::max(waits[1], least),
          seconds_of("FORKRUN_REMOTE_PAUSES", {seconds{5}, seconds{30}, seconds{120}})};
    }();
    return limits;
  }
};

/// Time left for a reader's repeated requests, over all failures: opening the file, and each
/// request. It begins with the first request.
class Patience {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Patience(const RemoteLimits& limits = RemoteLimits::get())
      : pauses_{limits.pauses}, last_try_{Clock::now() + limits.connection / 2} {
    for (const auto pause : pauses_) {
      last_try_ += pause;
    }
  }

  /// Pause before the next try, if that begins in time; none: time is over.
  [[nodiscard]] std::optional<Clock::duration> next_pause() {
    const auto left = last_try_ - Clock::now();
    if (n_pauses_ == pauses_.size() || left <= Clock::duration::zero()) {
      return std::nullopt;
    }
    return std::min<Clock::duration>(pauses_[n_pauses_++], left);
  }
  [[nodiscard]] bool is_over() const { return Clock::now() >= last_try_; }

 private:
  RemoteSeconds pauses_;
  std::size_t n_pauses_ = 0;
  Clock::time_point last_try_;
};

}  // namespace forkrun
