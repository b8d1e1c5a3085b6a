#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <forkrun/core/data/unit_of_work.hpp>
#include <forkrun/core/module/block.hpp>
#include <forkrun/core/schedule/graph.hpp>
#include <forkrun/core/schedule/schedule.hpp>

namespace forkrun {

/// `1:5`.
[[nodiscard]] std::string text_of(LumiId lumi);

/// `module "dimuon" failed at 1:5, events 100…199`
[[nodiscard]] std::string describe_failure(const Node& node, const EventBlock& block);

/// Calls the transition callbacks of modules as datasets, runs, lumis and IOVs change, for each
/// module at its own pace: from unit to unit and, where a unit has several lumis, from lumi to lumi
/// within its blocks.
class Announcer {
 public:
  explicit Announcer(const Schedule& schedule);

  // For all modules, while none of them is called.

  /// Ends everything that does not continue in the unit `next`; null: everything.
  void end_before(const UnitOfWork* next);
  /// Begins everything that begins with the unit, which must stay in place until its end.
  void begin(const UnitOfWork& unit);
  /// Ends and begins the lumis of the unit that modules have not reached; the last stays open.
  void end_lumis();

  /// Ends everything open in modules that end with commits.
  void end_with_commit();

  /// Before a module is called with this event of the unit; earlier events never follow.
  void advance(std::uint32_t module, std::size_t event);

 private:
  /// State of one module.
  struct Place {
    std::uint32_t iov{};
    std::uint32_t dataset{};
    LumiId lumi{};
  };
  class OfModule {
   public:
    explicit OfModule(const ModuleRecord& record);
    [[nodiscard]] bool ends_with_commits() const { return ends_with_commits_; }
    void end_before(const Place* next);
    void begin(const Place& place);
    void begin_unit(const UnitOfWork& unit);
    void advance(const UnitOfWork& unit, std::size_t event);

   private:
    using Callback = std::function<void(Transitions&)>;
    void call(const std::string& name, const Callback& callback) const;

    const ModuleRecord* record_;
    bool ends_with_commits_;
    std::optional<std::uint32_t> iov_{};  ///< begun and not ended
    std::optional<std::uint32_t> dataset_{};
    std::optional<std::uint32_t> run_{};
    std::optional<LumiId> lumi_{};
    std::size_t n_lumis_ = 0;  ///< lumis of the unit that were begun
  };

  std::vector<OfModule> modules_;  ///< modules with Transitions
  std::vector<std::uint32_t>
      place_of_;  ///< by module, index in `modules_`; none: it has no Transitions
  const UnitOfWork* unit_{};
};

}  // namespace forkrun
