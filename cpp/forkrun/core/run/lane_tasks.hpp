#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <vector>

#include <forkrun/concurrency/task_chain.hpp>
#include <forkrun/concurrency/team.hpp>
#include <forkrun/concurrency/waiting_task_list.hpp>
#include <forkrun/core/module/coroutine.hpp>
#include <forkrun/core/module/external_work.hpp>
#include <forkrun/core/run/lane.hpp>
#include <forkrun/core/run/unit_sequence.hpp>
#include <forkrun/core/run/unit_tasks.hpp>

namespace forkrun {

/// Tasks of one lane, reused block after block:
///
///     begin ─▶ load ─▶ gate 0 opens
///     a gate opens ─▶ asks for the filters of its children, and for inputs of its analyzers
///     filter done ─▶ its gates open, or close with all their children when no event is left
///     all analyzers and gates have ended ─▶ one output after another, each in block order
///     all outputs have ended ─▶ block ends ─▶ begin
///
/// The first request for a node requests its inputs; when the last of them is done the node becomes
/// ready, waits for its turn in block order and for its queues, if it has any, and runs.
class alignas(cache_line_pair) LaneTasks final : public ProductFetcher, public ExternalWaiter {
 public:
  LaneTasks(UnitTasks& shared, UnitSequence& units, Lane& lane);
  /// Takes blocks until there are no more for now.
  [[nodiscard]] Task& begin_task() { return begin_; }

  void wait_for(std::uint32_t asker, std::uint32_t product) override;
  [[nodiscard]] bool ask_for(std::uint32_t asker, std::uint32_t product) override;
  void check_made(std::uint32_t product) const override;
  void end_external(std::uint32_t node, std::exception_ptr failure) noexcept override;

 private:
  class BeginTask final : public Task {
   public:
    explicit BeginTask(LaneTasks& tasks) : tasks_{tasks} { set_rank(any_rank - 1); }
    void execute(ReadyTasks& ready) noexcept override { tasks_.begin_blocks(ready); }

   private:
    LaneTasks& tasks_;
  };

  class GateTask final : public WaitingTask {
   public:
    void execute(ReadyTasks& ready) noexcept override { tasks->try_gate(number, ready); }
    LaneTasks* tasks{};
    std::uint32_t number{};
    WaitingTaskList::Link link{this, nullptr};  ///< in the list of its filter
    WaitingTaskList done;                       ///< of a union: nodes that need its mask
  };

  enum class Stage : std::uint8_t {
    idle,
    outside,  ///< external work has begun
    waiting,  ///< a waiting coroutine
  };

  class NodeTask final : public WaitingTask {
   public:
    void execute(ReadyTasks& ready) noexcept override { tasks->advance(*this, ready); }
    using WaitingTask::set_rank;

    LaneTasks* tasks{};
    std::uint32_t number{};
    Stage stage = Stage::idle;
    bool is_skipped{};         ///< an analyzer without events: it only takes its turn
    std::uint8_t n_entered{};  ///< of its entrance: its turn, or nothing, and its queues
    WaitingTaskList::Link committing_link{this, nullptr};  ///< in the list of its unit's turn
    WaitingTaskList::Link union_link{this, nullptr};       ///< in the list of its union
    WaitingTaskList done;
    NodeTask* asked_before{};  ///< list of nodes whose inputs a thread is about to request
  };

  // Blocks
  void begin_blocks(ReadyTasks& ready);
  [[nodiscard]] bool begin_block(UnitInFlight& unit, ReadyTasks& ready);
  [[nodiscard]] bool enter_unit(ReadyTasks& ready);
  [[nodiscard]] bool leave_unit(ReadyTasks& ready);
  void load(std::uint32_t number);
  void expect_next(const UnitInFlight& unit);
  void end_block(ReadyTasks& ready);

  void make_links();
  void reset();

  // Gates and paths
  void open_gate(std::uint32_t gate, ReadyTasks& ready);
  void close_gate(std::uint32_t gate, ReadyTasks& ready);
  void try_gate(std::uint32_t gate, ReadyTasks& ready);
  void end_gate(const Gate& gate, ReadyTasks& ready);
  void end_union(std::uint32_t gate, ReadyTasks& ready);
  void begin_analyzer(NodeTask& task, ReadyTasks& ready);
  void end_path(ReadyTasks& ready);
  void begin_next_output(ReadyTasks& ready);

  // Nodes
  void ask_for_inputs(NodeTask& task, ReadyTasks& ready);
  [[nodiscard]] NodeTask* ask_for_own_inputs(NodeTask& task, NodeTask* before);
  void advance(NodeTask& task, ReadyTasks& ready);
  [[nodiscard]] bool enter(NodeTask& task);
  [[nodiscard]] bool enter_turn(NodeTask& task);
  [[nodiscard]] bool has_turn(const Entrance& entrance) const {
    return !entrance.waits_to_commit || unit_->committing().is_done();
  }
  /// Pushes the tasks that come next.
  [[nodiscard]] TaskChain leave(NodeTask& task);
  bool leave_shared(NodeTask& task, ReadyTasks& ready);
  [[nodiscard]] bool acquire(NodeTask& task, ReadyTasks& ready);
  [[nodiscard]] bool call(NodeTask& task, std::exception_ptr& failure);
  void note_failure(const std::exception_ptr& failure);
  void end(NodeTask& task, std::exception_ptr failure, ReadyTasks& ready);

  UnitTasks& shared_;
  UnitSequence& units_;
  const Graph& graph_;
  Lane& lane_;
  UnitInFlight* unit_{};  ///< of the block; null while idle
  BeginTask begin_;
  std::vector<NodeTask> nodes_;
  std::vector<GateTask> gates_;
  std::vector<WaitingTaskList::Link> links_;      ///< of consumers in the lists of their inputs
  std::vector<WaitingTaskList::Link> ask_links_;  ///< by node, of coroutines; empty: there are none
  std::atomic<std::uint32_t> n_path_ends_left_{};
  std::size_t n_outputs_begun_{};  ///< of this block
};

}  // namespace forkrun
