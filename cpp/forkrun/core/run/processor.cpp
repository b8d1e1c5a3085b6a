#include <forkrun/core/run/processor.hpp>

#include <algorithm>
#include <optional>
#include <utility>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/run/block_loop.hpp>
#include <forkrun/core/run/read_ahead.hpp>
#include <forkrun/core/schedule/graph.hpp>

namespace forkrun {

namespace {

std::unique_ptr<Executor> configured_executor(const ProcessorConfig& config) {
  switch (config.executor) {
    case ExecutorKind::serial: return make_serial_executor();
    case ExecutorKind::tbb: return make_executor(config.threads);
    case ExecutorKind::dispatch: return make_dispatch_executor(config.threads);
  }
  throw Error{"unknown executor"};
}

void check(const ProcessorConfig& config) {
  if (config.threads == 0 || config.concurrent_blocks == 0 || config.concurrent_units == 0 ||
      config.concurrent_iovs == 0) {
    throw Error{
        "at least one thread, one concurrent block, one concurrent unit and one concurrent IOV are "
        "needed"};
  }
}

std::unique_ptr<BlockLoop> make_loop(const Graph& graph, const MakeLane& make_lane,
                                     const ProcessorConfig& config) {
  // Without tasks no thread could continue when external work has ended.
  const bool needs_tasks = config.always_tasks || config.reads_ahead ||
                           std::ranges::any_of(graph.nodes, &Node::is_external);
  const bool is_serial = config.executor == ExecutorKind::serial;
  const bool is_alone = is_serial || (config.threads == 1 && config.concurrent_blocks == 1);
  if (is_alone && !needs_tasks) {
    return make_serial_loop(graph, make_lane);
  }
  const UnitLimits limits{config.concurrent_units, config.concurrent_iovs};
  return make_task_loop(graph, make_lane, is_serial ? 1 : config.concurrent_blocks,
                        is_serial ? UnitLimits{} : limits, configured_executor(config));
}

}  // namespace

struct Processor::Impl {
  Schedule& schedule;
  Announcer announcer;
  UnitSteps steps;
  std::unique_ptr<Recorder> recorder{};
  std::unique_ptr<BlockLoop> loop{};  ///< uses the recorder and the announcer

  Impl(Schedule& s, const Source& source, std::size_t block_size, StatusSlot* status)
      : schedule{s}, announcer{s}, steps{s, announcer, source, block_size, status} {}
};

Processor::Processor(Schedule& schedule, Source& source, ProcessorConfig config, StatusSlot* status)
    : impl_{std::make_unique<Impl>(schedule, source, config.block_size, status)} {
  check(config);
  if (config.records) {
    impl_->recorder = std::make_unique<Recorder>(schedule.graph().nodes.size(),
                                                 config.n_trace_calls, config.on_call);
    impl_->steps.record(*impl_->recorder);
  }
  const bool is_serial = config.executor == ExecutorKind::serial;
  const bool is_alone = is_serial || config.concurrent_blocks == 1;
  const bool reads_ahead = config.reads_ahead && is_alone && !is_serial;
  config.reads_ahead = reads_ahead;
  if (reads_ahead) {  // The next unit must be known.
    config.concurrent_units = std::max<std::size_t>(config.concurrent_units, 2);
  }
  schedule.make_clones(is_alone ? 0 : config.concurrent_blocks - 1);
  schedule.share_histograms(is_alone ? 1 : std::min(config.threads, config.concurrent_blocks));
  const auto make_lane = [&](std::size_t number) {
    auto of_source = reads_ahead ? std::make_unique<ReadAheadLane>(source) : source.make_lane();
    return std::make_unique<Lane>(schedule.graph(), number, std::move(of_source),
                                  LaneStatus{status, is_alone}, impl_->announcer,
                                  impl_->recorder.get());
  };
  impl_->loop = make_loop(schedule.graph(), make_lane, config);
}

Processor::~Processor() = default;

void Processor::run(const NextUnit& next, const CommitUnit& commit) {
  impl_->steps.start(next, commit, LastEnds::called);
  impl_->loop->run(impl_->steps);
}

void Processor::stop() { impl_->steps.stop(); }

UnitResult Processor::process(const UnitOfWork& unit,
                              const std::map<std::string, std::string>& outputs) {
  std::optional<UnitToDo> to_do{UnitToDo{unit, outputs}};
  UnitResult result;
  const NextUnit next = [&to_do] { return std::exchange(to_do, std::nullopt); };
  const CommitUnit commit = [&result](const UnitOfWork&, const UnitResult& of_unit) {
    result = of_unit;
  };
  impl_->steps.start(next, commit, LastEnds::left_open);
  impl_->loop->run(impl_->steps);
  return result;
}

void Processor::finish() { impl_->steps.finish(); }

const Graph& Processor::graph() const { return impl_->schedule.graph(); }

const Recorder* Processor::recorder() const { return impl_->recorder.get(); }

}  // namespace forkrun
