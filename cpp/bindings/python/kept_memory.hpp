#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace forkrun::bindings {

/// What calls of one module in Python leave in memory. Only changed with the GIL held.
struct KeptMemory {
  std::string label;
  std::uint64_t n_calls{};
  std::uint64_t n_read{};         ///< calls before and after which memory was read
  std::uint64_t n_events{};       ///< of all calls
  std::uint64_t n_events_read{};  ///< of those that were read
  std::int64_t n_bytes{};         ///< that these have left, less what they gave back

  /// What all calls have left, if they are as those that were read.
  [[nodiscard]] std::int64_t estimate() const;
};

/// Begins to watch in this process, from nothing on. `is_alone`: no other thread calls modules;
/// else only calls count during which no other thread computes.
void watch_kept_memory(bool is_alone);

/// The module whose calls have left most, and how much [bytes]; none if not yet seen several times.
[[nodiscard]] std::optional<std::pair<std::string, std::int64_t>> most_kept();

/// A call of a module, from its beginning to the end of what it gave. Reading takes a microsecond
/// to milliseconds, by how much Python has; few calls are read where that is much.
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

/// Notes that arrays hold so much more memory of columns, or less.
void add_held_bytes(std::int64_t n_bytes);

}  // namespace forkrun::bindings
