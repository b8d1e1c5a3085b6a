#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace forkrun {

/// Speed of a file's replicas for readers: bytes per second of waiting. While readers hardly wait,
/// no replica is too slow.
class ReplicaRates {
 public:
  explicit ReplicaRates(std::size_t n_replicas) : rates_(n_replicas) {}

  /// Adds to the replica in use.
  void add(std::int64_t n_bytes, double waited_s) {
    n_bytes_ += static_cast<double>(n_bytes);
    waited_s_ += waited_s;
  }
  /// The replica to read from now on, once enough was read from this one: first the untried ones in
  /// order, then the fastest, if it is faster by far; else this one.
  [[nodiscard]] std::size_t best(std::size_t used);
  /// Excludes a replica that cannot be read.
  void note_failure(std::size_t replica) { rates_[replica] = 0; }

 private:
  std::vector<std::optional<double>> rates_;  ///< bytes per second
  double n_bytes_ = 0;
  double waited_s_ = 0;
};

}  // namespace forkrun
