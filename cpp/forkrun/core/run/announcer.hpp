#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <forkrun/core/data/unit_of_work.hpp>
#include <forkrun/core/schedule/module_record.hpp>
#include <forkrun/core/schedule/schedule.hpp>

namespace forkrun {

/// Calls the transition callbacks of modules as datasets, runs, lumis and IOVs change: those of
/// each module as it gets on, which is from unit to unit and, where a unit has several lumis, from
/// one to the next of them in the middle of its blocks.
class Announcer {
 public:
  explicit Announcer(const Schedule& schedule);

  // For all modules, while none of them is called.

  /// Ends what does not go on with the unit `next`; null: everything.
  void end_before(const UnitOfWork* next);
  /// Begins what the unit is the first of. It stays where it is until its end.
  void begin(const UnitOfWork& unit);
  /// Ends and begins the lumis of the unit to which modules have not come; the last stays open.
  void end_lumis();

  /// Ends what is open in modules that end with commits.
  void end_with_commit();

  /// Before a module is called with this event of the unit, and with none before it any more.
  void advance(std::uint32_t module, std::size_t event);

 private:
  /// Where a module is.
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
    std::optional<std::uint32_t> iov_{};  ///< those that were begun and not ended
    std::optional<std::uint32_t> dataset_{};
    std::optional<std::uint32_t> run_{};
    std::optional<LumiId> lumi_{};
    std::size_t n_lumis_ = 0;  ///< of the unit, that were begun
  };

  std::vector<OfModule> modules_;        ///< those with Transitions
  std::vector<std::uint32_t> place_of_;  ///< by module, in these; none: it has no Transitions
  const UnitOfWork* unit_{};
};

}  // namespace forkrun
