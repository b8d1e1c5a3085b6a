#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include <forkrun/concurrency/ordered_task_queue.hpp>
#include <forkrun/concurrency/serial_task_queue.hpp>
#include <forkrun/concurrency/waiting_task_list.hpp>
#include <forkrun/core/lane.hpp>

namespace forkrun {

/// What the lanes share while a unit is processed: its blocks, the queues before modules that
/// cannot take every block at once, and the first failure.
///
/// After a failure no module is called any more, but every task still takes its course: it waits
/// for its turn, passes it on, tells who waits for it. So all blocks end in the ordinary way.
class UnitTasks {
 public:
  UnitTasks(const Graph& graph, std::size_t n_lanes, Parallel& parallel);

  void begin(LumiId lumi, std::span<const EntryRange> blocks);
  /// None when there are no more, or the unit has failed.
  [[nodiscard]] std::optional<BlockToDo> next_block();

  void fail(std::uint64_t sequence, std::exception_ptr failure);
  // Relaxed: a module called a moment later than need be does no harm.
  [[nodiscard]] bool has_failed() const { return has_failed_.load(std::memory_order_relaxed); }
  void rethrow_failure();

  [[nodiscard]] const Graph& graph() const { return graph_; }
  [[nodiscard]] Parallel& parallel() { return parallel_; }
  /// Null for nodes that need none.
  [[nodiscard]] SerialTaskQueue* queue(std::uint32_t node) { return queues_[node]; }
  [[nodiscard]] OrderedTaskQueue* order(std::uint32_t node) { return orders_[node].get(); }
  /// Analyzers, and gates behind which there is nothing: when all have ended, the paths have.
  [[nodiscard]] std::uint32_t n_path_ends() const { return n_path_ends_; }

 private:
  const Graph& graph_;
  Parallel& parallel_;
  std::uint32_t n_path_ends_{};
  SerialTaskQueue unsafe_queue_;
  std::vector<std::unique_ptr<SerialTaskQueue>> own_queues_;
  std::vector<SerialTaskQueue*> queues_;                   ///< by node
  std::vector<std::unique_ptr<OrderedTaskQueue>> orders_;  ///< by node

  LumiId lumi_;
  std::span<const EntryRange> blocks_;
  std::atomic<std::uint64_t> next_block_{};
  std::atomic<bool> has_failed_{};
  std::mutex failure_mutex_;
  std::uint64_t failed_sequence_{};
  std::exception_ptr failure_;
};

/// The tasks of one lane; they are used again for block after block. The course of a block:
///
///     begin ─▶ load ─▶ gate 0 opens
///     a gate opens ─▶ asks for the filters of the gates behind it, and for what its analyzers need
///     filter done ─▶ its gates open, or close with all behind them when no event is left
///     all analyzers and gates have ended ─▶ outputs, in block order ─▶ block ends ─▶ begin
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
  void end_output(ReadyTasks& ready);
  void end_block(ReadyTasks& ready);

  UnitTasks& unit_;
  const Graph& graph_;
  Lane& lane_;
  BeginTask begin_;
  std::vector<NodeTask> nodes_;
  std::vector<GateTask> gates_;
  std::vector<WaitingTaskList::Link> links_;  ///< of consumers in the lists of their inputs
  std::atomic<std::uint32_t> n_path_ends_left_{};
  std::atomic<std::uint32_t> n_outputs_left_{};
};

}  // namespace forkrun
