#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include <forkrun/concurrency/waiting_task_list.hpp>
#include <forkrun/core/lane.hpp>
#include <forkrun/core/unit_tasks.hpp>

namespace forkrun {

/// The tasks of one lane; they are used again for block after block. The course of a block:
///
///     begin ─▶ load ─▶ gate 0 opens
///     a gate opens ─▶ asks for the filters of the gates behind it, and for what its analyzers need
///     filter done ─▶ its gates open, or close with all behind them when no event is left
///     all analyzers and gates have ended ─▶ one output after another, each in block order
///     all outputs have ended ─▶ block ends ─▶ begin
///
/// Asking for a node the first time asks for its inputs; when the last of them is done the node
/// becomes ready, waits for its turn in block order and for its queue, if it has such, and runs.
class LaneTasks {
 public:
  LaneTasks(UnitTasks& unit, Lane& lane);
  /// Takes the next block, if there is one.
  [[nodiscard]] Task& begin_task() { return begin_; }

 private:
  class BeginTask final : public Task {
   public:
    explicit BeginTask(LaneTasks& tasks) : tasks_{tasks} {}
    void execute(ReadyTasks& ready) noexcept override { tasks_.begin_block(ready); }

   private:
    LaneTasks& tasks_;
  };

  class GateTask final : public WaitingTask {
   public:
    void execute(ReadyTasks& ready) noexcept override { tasks->try_gate(number, ready); }
    LaneTasks* tasks{};
    std::uint32_t number{};
    WaitingTaskList::Link link{this, nullptr};  ///< in the list of its filter
  };

  class NodeTask final : public WaitingTask {
   public:
    void execute(ReadyTasks& ready) noexcept override { tasks->advance(*this, ready); }
    enum class Stage : std::uint8_t { before_turn, before_queue, running };
    LaneTasks* tasks{};
    std::uint32_t number{};
    Stage stage = Stage::before_turn;
    bool is_skipped{};  ///< an analyzer without events: only its turn is taken
    WaitingTaskList done;
  };

  void begin_block(ReadyTasks& ready);
  void reset();
  void load(const BlockToDo& block);
  void open_gate(std::uint32_t gate, ReadyTasks& ready);
  void close_gate(std::uint32_t gate, ReadyTasks& ready);
  void try_gate(std::uint32_t gate, ReadyTasks& ready);
  void decide_analyzers(const Gate& gate, ReadyTasks& ready);
  void begin_analyzer(NodeTask& task, ReadyTasks& ready);
  void ask_for_inputs(NodeTask& task, ReadyTasks& ready);
  void advance(NodeTask& task, ReadyTasks& ready);
  void call(const Node& node);
  void end_node(NodeTask& task, ReadyTasks& ready);
  void end_path(ReadyTasks& ready);
  void begin_outputs(ReadyTasks& ready);
  void begin_next_output(ReadyTasks& ready);
  void end_block(ReadyTasks& ready);

  UnitTasks& unit_;
  const Graph& graph_;
  Lane& lane_;
  BeginTask begin_;
  std::vector<NodeTask> nodes_;
  std::vector<GateTask> gates_;
  std::vector<WaitingTaskList::Link> links_;  ///< of consumers in the lists of their inputs
  std::atomic<std::uint32_t> n_path_ends_left_{};
  std::size_t n_outputs_begun_{};  ///< of this block
};

}  // namespace forkrun
