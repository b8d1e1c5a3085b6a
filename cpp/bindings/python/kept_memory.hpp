#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace forkrun::bindings {

/// Memory that calls of one Python module leave allocated. Only changed with the GIL held.
struct KeptMemory {
  std::string label;
  std::uint64_t n_calls{};
  std::uint64_t n_read{};         ///< calls before and after which memory was read
  std::uint64_t n_events{};       ///< of all calls
  std::uint64_t n_events_read{};  ///< of calls that were read
  std::int64_t n_bytes{};         ///< that these calls have left, less the bytes they gave back

  /// Bytes left by all calls, if they are like the calls that were read.
  [[nodiscard]] std::int64_t estimate() const;
};

/// Starts counting in this process, from zero. `is_alone`: no other thread calls modules; else only
/// calls count during which no other thread computes.
void watch_kept_memory(bool is_alone);

/// The module whose calls have left most, and how much [bytes]; none before several calls were
/// read.
[[nodiscard]] std::optional<std::pair<std::string, std::int64_t>> most_kept();

/// A call of a module, until its results are released. A reading takes a microsecond to
/// milliseconds, growing with Python's heap; where it takes long, few calls are read.
class KeptReading {
 public:
  KeptReading(std::shared_ptr<KeptMemory> kept, std::uint64_t n_events);
  ~KeptReading();
  KeptReading(const KeptReading&) = delete;
  KeptReading& operator=(const KeptReading&) = delete;

 private:
  std::shared_ptr<KeptMemory> kept_;  ///< null: not read
  std::uint64_t n_events_;
  std::int64_t begin_ns_{};
  std::int64_t before_{};
  std::int64_t others_ns_{};  ///< CPU time of other threads until then
};

/// Notes that arrays hold so much more, or less, memory of columns.
void add_held_bytes(std::int64_t n_bytes);

}  // namespace forkrun::bindings
