#pragma once

#include <cstdint>
#include <optional>

#include <forkrun/core/data/unit_of_work.hpp>
#include <forkrun/core/schedule/schedule.hpp>

namespace forkrun {

/// Calls the transition callbacks of modules as datasets, runs, lumis and IOVs change from unit to
/// unit.
class Announcer {
 public:
  explicit Announcer(Schedule& schedule) : schedule_{schedule} {}

  /// Ends what does not go on with the unit `next`; null: everything.
  void end_before(const UnitOfWork* next);
  /// Begins what the unit is the first of.
  void begin(const UnitOfWork& unit);

 private:
  Schedule& schedule_;
  std::optional<std::uint32_t> iov_{};  ///< those that were begun and not ended
  std::optional<std::uint32_t> dataset_{};
  std::optional<std::uint32_t> run_{};
  std::optional<LumiId> lumi_{};
};

}  // namespace forkrun
