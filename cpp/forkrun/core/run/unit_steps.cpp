#include <forkrun/core/run/unit_steps.hpp>

#include <utility>

#include <forkrun/concurrency/cpu_clock.hpp>
#include <forkrun/core/data/counted.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/schedule/graph.hpp>

namespace forkrun {

namespace {

OutputModule* output_of(const Node& node) {
  return static_cast<OutputModule*>(node.record->module.get());
}

/// Runs `step`; its exception is a failure of the unit.
template <typename Step>
void attempt(UnitInFlight& unit, std::uint64_t where, const Step& step) {
  try {
    step();
  } catch (...) {
    unit.fail(where, std::current_exception());
  }
}

}  // namespace

/// Outputs of one unit: abandoned unless all of them could be closed.
class UnitSteps::OpenOutputs {
 public:
  explicit OpenOutputs(const Graph& graph) : graph_{graph} {}
  OpenOutputs(const OpenOutputs&) = delete;
  OpenOutputs& operator=(const OpenOutputs&) = delete;
  ~OpenOutputs() { abandon(); }

  void open(const UnitInFlight& unit) {
    for (const auto number : graph_.outputs) {
      const auto& node = graph_.nodes[number];
      const auto& path = unit.outputs().at(*node.name);
      open_.push_back(output_of(node));
      try {
        open_.back()->open(unit.unit(), path);
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

  void abandon() {
    for (auto* output : std::exchange(open_, {})) {
      output->abandon();
    }
  }

 private:
  const Graph& graph_;
  std::vector<OutputModule*> open_;
};

UnitSteps::UnitSteps(Schedule& schedule, Announcer& announcer, const Source& source,
                     std::size_t block_size, StatusSlot* status)
    : schedule_{schedule},
      source_{source},
      block_size_{block_size},
      status_{status},
      announcer_{announcer},
      outputs_{std::make_unique<OpenOutputs>(schedule.graph())} {}

UnitSteps::~UnitSteps() = default;

void UnitSteps::start(const NextUnit& next, const CommitUnit& commit, LastEnds last_ends) {
  next_ = &next;
  commit_ = &commit;
  last_ends_ = last_ends;
  failure_ = nullptr;
  is_stopped_ = false;
}

bool UnitSteps::take(UnitInFlight& unit) {
  if (failure_ || is_stopped()) {
    return false;
  }
  try {
    auto next = (*next_)();
    if (!next) {
      return false;
    }
    blocks_.clear();
    const auto size = next->unit.block_size;
    source_.cut(next->unit, size == 0 ? block_size_ : size, blocks_);
    unit.begin(std::move(*next), blocks_, StopOrder{status_});
    return true;
  } catch (...) {
    failure_ = std::current_exception();
    return false;
  }
}

/// Even after a failure of a block: so callbacks are the same as with one unit at a time.
void UnitSteps::begin(UnitInFlight& unit) {
  if (unit.is_dropped()) {
    return;
  }
  attempt(unit, UnitInFlight::at_begin, [&] {
    check_outputs(unit);
    note_begin(unit.unit());
    announcer_.end_before(
        &unit.unit());  // In case this unit was unknown at the previous unit's end.
    schedule_.clear_histograms();
    schedule_.clear_accumulators();
    announcer_.begin(unit.unit());
    outputs_->open(unit);
  });
}

bool UnitSteps::must_know_next() const { return schedule_.graph().has_transitions; }

void UnitSteps::end(UnitInFlight& unit, const UnitInFlight* next) {
  if (unit.has_failed()) {
    return;
  }
  attempt(unit, UnitInFlight::at_end, [&] {
    announcer_.end_lumis();
    announcer_.end_with_commit();
    if (next != nullptr || last_ends_ == LastEnds::called) {
      announcer_.end_before(next == nullptr ? nullptr : &next->unit());
    }
  });
}

template <typename Act>
void UnitSteps::note_committing(const UnitOfWork& unit, const Act& act) {
  if (recorder_ == nullptr) {
    return act();
  }
  const Recorder::Doing doing{*recorder_, Activity::Kind::committing};
  Recorder::Call call{recorder_->committing(), 0, unit.lumi.run, unit.lumi.lumi, unit.number,
                      Recorder::now_ns(),      0};
  act();
  call.end_ns = Recorder::now_ns();
  doing.end(call.start_ns, call.end_ns);
  recorder_->note_committing(call);
}

void UnitSteps::close(UnitInFlight& unit, Parallel& parallel) {
  if (!unit.has_failed()) {
    attempt(unit, UnitInFlight::at_end, [&] {
      note_committing(unit.unit(), [&] { unit.result.outputs = outputs_->close(parallel); });
    });
  }
  outputs_->abandon();  // Outputs that are not closed.
}

void UnitSteps::commit(UnitInFlight& unit) {
  if (unit.has_failed()) {
    return;
  }
  attempt(unit, UnitInFlight::at_end, [&] {
    note_end(unit.result);
    note_committing(unit.unit(), [&] { (*commit_)(unit.unit(), unit.result); });
    if (status_ != nullptr) {
      status_->n_units_done.fetch_add(1, std::memory_order_relaxed);
    }
  });
}

void UnitSteps::rethrow_failure() {
  if (failure_) {
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }
}

void UnitSteps::check_outputs(const UnitInFlight& unit) const {
  const auto& graph = schedule_.graph();
  for (const auto number : graph.outputs) {
    if (!unit.outputs().contains(*graph.nodes[number].name)) {
      throw Error{"missing path for output \"" + *graph.nodes[number].name + "\""};
    }
  }
  if (unit.outputs().size() != graph.outputs.size()) {
    throw Error{counted(unit.outputs().size(), "path") + " given for " +
                counted(graph.outputs.size(), "output")};
  }
}

void UnitSteps::note_begin(const UnitOfWork& unit) {
  begin_ = std::chrono::steady_clock::now();
  cpu_begin_ns_ = process_cpu_ns();
  if (status_ != nullptr) {
    status_->unit.store(unit.number, std::memory_order_relaxed);
    status_->run.store(unit.lumi.run, std::memory_order_relaxed);
    status_->lumi.store(unit.lumi.lumi, std::memory_order_relaxed);
    note_heartbeat(*status_);
  }
}

void UnitSteps::note_end(UnitResult& result) const {
  result.cpu_s = 1e-9 * static_cast<double>(process_cpu_ns() - cpu_begin_ns_);
  result.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

}  // namespace forkrun
