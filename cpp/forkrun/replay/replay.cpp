#include <forkrun/replay/replay.hpp>

#include <algorithm>
#include <chrono>

#include <forkrun/replay/counting_source.hpp>
#include <forkrun/replay/replay_modules.hpp>

namespace forkrun::replay {

struct Replay::Impl {
  Stage stage{};
  CountingSource source{};
  bool needs_timer{};
  std::unique_ptr<Schedule> schedule{};
};

Replay::Replay(const std::vector<ModuleDescription>& modules,
               const std::vector<PathDescription>& paths)
    : impl_{std::make_unique<Impl>()} {
  ScheduleBuilder builder{{}};
  for (const auto& module : modules) {
    builder.add_module({module.label, {}}, [&](Construction& construction) {
      return make_module(impl_->stage, module, construction);
    });
  }
  for (const auto& path : paths) {
    builder.add_path(path);
  }
  impl_->needs_timer =
      std::ranges::any_of(modules, [](const auto& module) { return module.work == Work::async; });
  impl_->schedule = builder.compile();
}

Replay::~Replay() = default;

namespace {

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Result Replay::run(const Settings& settings, StatusSlot* status) {
  impl_->stage.begin(settings.processor.concurrent_blocks, settings.steps_per_s,
                     impl_->needs_timer);
  Processor processor{*impl_->schedule, impl_->source, settings.processor, status};
  const auto last = settings.first_event + settings.n_events;
  Result result;
  result.start_s = now_s();
  const auto unit = processor.process({0, {1, 1}, {{0, settings.first_event, last}}}, {});
  result.end_s = now_s();
  result.cpu_s = unit.cpu_s;
  result.checksum = impl_->stage.checksum();
  return result;
}

}  // namespace forkrun::replay
