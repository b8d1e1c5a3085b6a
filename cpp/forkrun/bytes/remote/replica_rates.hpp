#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace forkrun {

/// How fast the replicas of a file are, as readers feel it: bytes that they got for each second in
/// which they had to wait. Where they hardly wait, no replica is too slow.
class ReplicaRates {
 public:
  explicit ReplicaRates(std::size_t n_replicas) : rates_(n_replicas) {}

  /// Of the replica that is used now.
  void add(std::int64_t n_bytes, double waited_s) {
    n_bytes_ += static_cast<double>(n_bytes);
    waited_s_ += waited_s;
  }
  /// The replica to read from now on, once enough was read of this one: one of which nothing is
  /// known yet, the next first, then the fastest, if it is faster by far; else this one.
  [[nodiscard]] std::size_t best(std::size_t used);
  /// It cannot be read.
  void note_failure(std::size_t replica) { rates_[replica] = 0; }

 private:
  std::vector<std::optional<double>> rates_;  ///< bytes per second
  double n_bytes_ = 0;
  double waited_s_ = 0;
};

}  // namespace forkrun
