#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <forkrun/concurrency/cache_lines.hpp>
#include <forkrun/core/module/module.hpp>
#include <forkrun/replay/replay.hpp>
#include <forkrun/replay/timer.hpp>

namespace forkrun::replay {

/// What the modules of one job share while it runs.
struct Stage {
  double steps_per_s{};
  std::unique_ptr<Timer> timer{};                      ///< made in the child: it has a thread
  std::vector<CacheLineVector<std::uint64_t>> sums{};  ///< by lane and filter
  std::size_t n_filters{};

  void begin(std::size_t n_lanes, double steps_per_second, bool needs_timer);
  [[nodiscard]] std::uint64_t checksum() const;
};

[[nodiscard]] std::unique_ptr<Module> make_module(Stage& stage,
                                                  const ModuleDescription& description,
                                                  Construction& construction);

}  // namespace forkrun::replay
