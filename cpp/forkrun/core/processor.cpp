#include <forkrun/core/processor.hpp>

#include <time.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include <forkrun/core/block_loop.hpp>
#include <forkrun/core/error_context.hpp>
#include <forkrun/core/errors.hpp>
#include <forkrun/core/graph.hpp>

namespace forkrun {

namespace {

double cpu_now_s() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::unique_ptr<Executor> make_executor(const ProcessorConfig& config) {
  switch (config.executor) {
    case ExecutorKind::serial: return make_serial_executor();
    case ExecutorKind::tbb: return make_tbb_executor(config.threads);
    case ExecutorKind::thread: return make_thread_executor(config.threads);
    case ExecutorKind::dispatch: return make_dispatch_executor(config.threads);
  }
  throw Error{"there is no such executor"};
}

std::unique_ptr<BlockLoop> make_loop(const Graph& graph, const MakeLane& make_lane,
                                     const ProcessorConfig& config, StopOrder stop) {
  if (config.threads == 0 || config.concurrent_blocks == 0) {
    throw Error{"at least one thread and one concurrent block are needed"};
  }
  const bool needs_tasks =
      config.always_tasks || std::ranges::any_of(graph.nodes, &Node::is_external);
  if (config.executor == ExecutorKind::serial && !needs_tasks) {
    return make_serial_loop(graph, make_lane, stop);
  }
  const auto n_lanes = config.executor == ExecutorKind::serial ? 1 : config.concurrent_blocks;
  return make_task_loop(graph, make_lane, n_lanes, config.always_tasks, make_executor(config),
                        stop);
}

OutputModule* output_of(const Node& node) {
  return static_cast<OutputModule*>(node.record->module.get());
}

/// The outputs of one unit: abandoned unless all of them could be closed.
class OpenOutputs {
 public:
  explicit OpenOutputs(const Graph& graph) : graph_{graph} {}
  OpenOutputs(const OpenOutputs&) = delete;
  OpenOutputs& operator=(const OpenOutputs&) = delete;
  ~OpenOutputs() {
    for (auto* output : open_) {
      output->abandon();
    }
  }

  void open(const UnitOfWork& unit, const std::map<std::string, std::string>& paths) {
    for (const auto number : graph_.outputs) {
      const auto& node = graph_.nodes[number];
      const auto& path = paths.at(*node.name);
      open_.push_back(output_of(node));
      try {
        open_.back()->open(unit, path);
      } catch (...) {
        rethrow_with_context("output \"" + *node.name + "\" cannot open " + path);
      }
    }
  }

  std::vector<OutputSummary> close(Parallel& parallel) {
    std::vector<OutputSummary> summaries;
    for (const auto number : graph_.outputs) {
      const auto& node = graph_.nodes[number];
      try {
        summaries.push_back(output_of(node)->close(parallel));
      } catch (...) {
        rethrow_with_context("output \"" + *node.name + "\" cannot be closed");
      }
    }
    open_.clear();
    return summaries;
  }

 private:
  const Graph& graph_;
  std::vector<OutputModule*> open_;
};

}  // namespace

struct Processor::Impl {
  Schedule& schedule;
  Source& source;
  ProcessorConfig config;
  StatusSlot* status;
  std::unique_ptr<Recorder> recorder{};
  std::unique_ptr<BlockLoop> loop{};  ///< uses the recorder
  std::vector<EntryRange> blocks{};
  std::optional<LumiId> open_lumi{};

  void check_outputs(const std::map<std::string, std::string>& outputs) const;
  void begin_unit(const UnitOfWork& unit);
  void end_open_lumi(bool and_run);
  [[nodiscard]] SourceLane::Statistics statistics() const;
  void note_unit(const UnitOfWork& unit) const;
  UnitResult process(const UnitOfWork& unit, const std::map<std::string, std::string>& outputs);
};

void Processor::Impl::check_outputs(const std::map<std::string, std::string>& outputs) const {
  const auto& graph = schedule.graph();
  for (const auto number : graph.outputs) {
    if (!outputs.contains(*graph.nodes[number].name)) {
      throw Error{"no path is given for output \"" + *graph.nodes[number].name + "\""};
    }
  }
  if (outputs.size() != graph.outputs.size()) {
    throw Error{std::to_string(outputs.size()) + " paths are given for " +
                std::to_string(graph.outputs.size()) + " outputs"};
  }
}

/// Sends begin and end of runs and lumis where the unit's lumi is not the open one.
void Processor::Impl::begin_unit(const UnitOfWork& unit) {
  if (open_lumi == unit.lumi) {
    return;
  }
  const bool same_run = open_lumi && open_lumi->run == unit.lumi.run;
  end_open_lumi(!same_run);
  if (!same_run) {
    schedule.begin_run(unit.lumi.run);
  }
  open_lumi = unit.lumi;
  schedule.begin_lumi(unit.lumi);
}

void Processor::Impl::end_open_lumi(bool and_run) {
  if (const auto lumi = std::exchange(open_lumi, std::nullopt)) {
    schedule.end_lumi(*lumi);
    if (and_run) {
      schedule.end_run(lumi->run);
    }
  }
}

SourceLane::Statistics Processor::Impl::statistics() const {
  SourceLane::Statistics sum;
  for (const auto* lane : loop->lanes()) {
    const auto of_lane = lane->statistics();
    sum.read_calls += of_lane.read_calls;
    sum.read_bytes += of_lane.read_bytes;
  }
  return sum;
}

void Processor::Impl::note_unit(const UnitOfWork& unit) const {
  if (status != nullptr) {
    status->unit.store(unit.number, std::memory_order_relaxed);
    status->run.store(unit.lumi.run, std::memory_order_relaxed);
    status->lumi.store(unit.lumi.lumi, std::memory_order_relaxed);
    note_heartbeat(*status);
  }
}

UnitResult Processor::Impl::process(const UnitOfWork& unit,
                                    const std::map<std::string, std::string>& outputs) {
  const auto start = std::chrono::steady_clock::now();
  const auto cpu_start_s = cpu_now_s();
  const auto before = statistics();
  check_outputs(outputs);
  note_unit(unit);
  begin_unit(unit);
  schedule.clear_histograms();
  OpenOutputs open_outputs{schedule.graph()};
  open_outputs.open(unit, outputs);
  for (auto* lane : loop->lanes()) {
    (void)lane->take_digest();  // What a failed unit may have left.
  }
  blocks.clear();
  source.cut(unit, config.block_size, blocks);
  loop->run(unit.lumi, blocks);
  UnitResult result;
  result.outputs = open_outputs.close(loop->parallel());
  for (auto* lane : loop->lanes()) {
    result.read += lane->take_digest();
  }
  const auto after = statistics();
  result.read_calls = after.read_calls - before.read_calls;
  result.read_bytes = after.read_bytes - before.read_bytes;
  result.cpu_s = cpu_now_s() - cpu_start_s;
  result.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

Processor::Processor(Schedule& schedule, Source& source, ProcessorConfig config, StatusSlot* status)
    : impl_{std::make_unique<Impl>(Impl{schedule, source, config, status})} {
  if (config.records) {
    impl_->recorder = std::make_unique<Recorder>(schedule.graph().nodes.size(),
                                                 config.n_trace_calls, config.on_call);
  }
  const bool is_alone = config.executor == ExecutorKind::serial || config.concurrent_blocks == 1;
  schedule.make_clones(is_alone ? 0 : config.concurrent_blocks - 1);
  const auto make_lane = [&](std::size_t number) {
    return std::make_unique<Lane>(schedule.graph(), number, source.make_lane(),
                                  LaneStatus{status, is_alone}, impl_->recorder.get());
  };
  impl_->loop = make_loop(schedule.graph(), make_lane, config, StopOrder{status});
}

Processor::~Processor() = default;

UnitResult Processor::process(const UnitOfWork& unit,
                              const std::map<std::string, std::string>& outputs) {
  auto result = impl_->process(unit, outputs);
  if (impl_->status != nullptr) {
    impl_->status->n_units_done.fetch_add(1, std::memory_order_relaxed);
  }
  return result;
}

void Processor::finish() { impl_->end_open_lumi(true); }

const Graph& Processor::graph() const { return impl_->schedule.graph(); }

const Recorder* Processor::recorder() const { return impl_->recorder.get(); }

}  // namespace forkrun
