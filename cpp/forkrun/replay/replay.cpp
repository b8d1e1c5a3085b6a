#include <forkrun/replay/replay.hpp>

#include <algorithm>
#include <chrono>
#include <numeric>

#include <forkrun/concurrency/cache_lines.hpp>
#include <forkrun/core/data/source.hpp>
#include <forkrun/replay/replay_modules.hpp>

namespace forkrun::replay {

namespace {

class CountingLane final : public SourceLane {
 public:
  std::span<const std::uint64_t> load(EntryRanges block, const BlockLumis& /*lumis*/) override {
    const auto& [file, first, last] = block.front();
    events_.resize(static_cast<std::size_t>(last - first));
    std::iota(events_.begin(), events_.end(), static_cast<std::uint64_t>(first));
    return events_;
  }
  void read(std::size_t /*column*/, Column& /*into*/) override {}

 private:
  CacheLineVector<std::uint64_t> events_;
};

/// Events with a number only: entry i is event i.
class CountingSource final : public Source {
 public:
  [[nodiscard]] std::span<const ColumnDescription> columns() const override { return {}; }
  void cut(const UnitOfWork& unit, std::size_t block_size, BlockList& blocks) const override {
    const auto size = static_cast<std::int64_t>(block_size == 0 ? 1 : block_size);
    for (const auto& range : unit.ranges) {
      for (auto first = range.first; first < range.last; first += size) {
        blocks.begin({range.file, first, std::min(first + size, range.last)});
      }
    }
  }
  [[nodiscard]] std::unique_ptr<SourceLane> make_lane() override {
    return std::make_unique<CountingLane>();
  }
};

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

struct Replay::Impl {
  Stage stage{};
  std::unique_ptr<Source> source = std::make_unique<CountingSource>();
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

Result Replay::run(const Settings& settings, StatusSlot* status) {
  impl_->stage.begin(settings.processor.concurrent_blocks, settings.steps_per_s,
                     impl_->needs_timer);
  Processor processor{*impl_->schedule, *impl_->source, settings.processor, status};
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
