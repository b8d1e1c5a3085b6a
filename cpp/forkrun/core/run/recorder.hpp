#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <forkrun/core/data/source.hpp>

namespace forkrun {

/// Activity of a thread over time: its time of each kind, in pieces of one length, which doubles
/// when there would be more than `most_pieces`. So it takes 32 kB for any life time of the process.
class Activity {
 public:
  /// The rest is waiting.
  enum class Kind : std::uint8_t { reading, unpacking, processing, committing };
  static constexpr std::size_t n_kinds = 4;
  static constexpr std::size_t most_pieces = 1024;
  static constexpr unsigned first_length_bits = 20;  // about a millisecond
  using Piece = std::array<std::int64_t, n_kinds>;   ///< [ns]

  explicit Activity(std::int64_t origin_ns) : origin_ns_{origin_ns} {}

  /// Adds [start, end) to a kind, or subtracts it, where a piece of another kind lies within.
  void add(Kind kind, std::int64_t start_ns, std::int64_t end_ns) {
    spread(kind, start_ns, end_ns, 1);
  }
  void take_away(Kind kind, std::int64_t start_ns, std::int64_t end_ns) {
    spread(kind, start_ns, end_ns, -1);
  }

  [[nodiscard]] unsigned length_bits() const { return length_bits_; }
  /// The same in longer pieces.
  [[nodiscard]] std::vector<Piece> pieces(unsigned length_bits) const;

 private:
  void spread(Kind kind, std::int64_t start_ns, std::int64_t end_ns, std::int64_t sign);
  static void halve(std::vector<Piece>& pieces);

  std::int64_t origin_ns_;
  unsigned length_bits_ = first_length_bits;
  std::vector<Piece> pieces_;
};

/// Records calls of modules, from any thread. Every thread writes to its own memory; the records of
/// all are joined when none writes any more.
class Recorder {
 public:
  /// Called at each call of a module, on its thread: before and after it.
  using OnCall = std::function<void(std::uint32_t node, bool has_ended)>;

  /// `n_trace_calls`: number of calls that are kept one by one, the first of the process; 0: none.
  Recorder(std::size_t n_nodes, std::size_t n_trace_calls, OnCall on_call = {});
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// CLOCK_MONOTONIC, the same for all processes of a machine.
  [[nodiscard]] static std::int64_t now_ns() noexcept;

  struct Call {
    std::uint32_t node{};
    std::uint32_t lane{};
    std::uint32_t run{};
    std::uint32_t lumi{};
    std::uint64_t sequence{};  ///< number of the block in its unit
    std::int64_t start_ns{};
    std::int64_t end_ns{};
  };
  /// A call begins.
  void note_begin(std::uint32_t node) noexcept {
    if (on_call_) {
      on_call_(node, false);
    }
  }
  /// `cpu_ns`: CPU time of the thread in this call; negative: not measured. `has_ended`: false for
  /// a piece of a call of a coroutine that is resumed later.
  void note(const Call& call, std::int64_t cpu_ns, bool has_ended) noexcept;
  /// A node was requested and waited: first for its inputs, for `last_input` last of all, then for
  /// its turn or its queues.
  void note_wait(std::uint32_t node, std::uint32_t last_input, std::int64_t inputs_ns,
                 std::int64_t queue_ns) noexcept;
  /// Whether to measure the CPU time of the next call of a node: always where calls are long, else
  /// for one in eight, since the measurement costs as much as a small module.
  [[nodiscard]] bool wants_cpu_time(std::uint32_t node) noexcept;

  /// Loading a block and committing a unit are no nodes; in traces they follow the nodes.
  [[nodiscard]] std::uint32_t loading() const { return static_cast<std::uint32_t>(n_nodes_); }
  [[nodiscard]] std::uint32_t committing() const {
    return static_cast<std::uint32_t>(n_nodes_) + 1;
  }
  /// Input cost of a column; within its time.
  void note_input(std::uint32_t column, const InputCosts& costs) noexcept;
  /// A block was loaded.
  void note_loading(const Call& call, const InputCosts& costs) noexcept;
  void note_committing(const Call& call) noexcept;
  /// Work done before the request, here or on the read-ahead thread.
  void note_earlier(const SourceLane::Cost& cost) noexcept;

  struct OfThread;
  /// Activity of the calling thread during this object's lifetime. Activities of other kinds within
  /// it are counted as their own kind.
  class Doing {
   public:
    Doing(Recorder& recorder, Activity::Kind kind);
    Doing(const Doing&) = delete;
    Doing& operator=(const Doing&) = delete;
    ~Doing();
    /// Time of the activity; reading comes first.
    void end(std::int64_t start_ns, std::int64_t end_ns, std::int64_t reading_ns = 0) const;
    /// Another thread did it, and this one waited.
    void end_waiting(std::int64_t start_ns, std::int64_t end_ns) const;

   private:
    OfThread& thread_;
    Activity::Kind kind_;
    int within_;
  };

  /// Record of the calling thread, for another thread that continues in its place.
  struct Part {
    std::uint64_t recorder{};
    OfThread* notes{};
  };
  [[nodiscard]] static Part part_of_this_thread();
  static void set_part_of_this_thread(Part part);

  /// Bins of call times, eight per factor of two: bin b begins at `bin_start_ns(b)`.
  static constexpr std::size_t n_bins = 8 * 48;
  [[nodiscard]] static std::size_t bin_of(std::int64_t time_ns) noexcept;
  [[nodiscard]] static double bin_start_ns(std::size_t bin) noexcept;

  struct NodeStatistics {
    std::uint64_t n_calls{};
    std::int64_t total_ns{};
    std::int64_t longest_ns{};
    std::uint64_t n_cpu_calls{};
    std::int64_t cpu_ns{};       ///< of the n_cpu_calls pieces
    std::int64_t cpu_wall_ns{};  ///< wall time of the same pieces
    std::int64_t wait_inputs_ns{};
    std::int64_t wait_queue_ns{};
    std::vector<std::uint64_t> bins;  ///< up to the last non-empty one: at most n_bins
    InputCost input{};
    std::int64_t shared_ns{};  ///< part of total_ns: work shared with other columns
  };
  /// Loading of blocks, and work shared by columns.
  struct Loading {
    std::uint64_t n_calls{};
    std::int64_t total_ns{};
    InputCost input{};
  };
  /// Activity of a thread over time.
  struct OfTime {
    std::string name;
    std::vector<Activity::Piece> pieces;
  };
  struct Course {
    std::int64_t origin_ns{};
    std::int64_t piece_ns{};
    std::vector<OfTime> threads;
  };
  struct Stall {
    std::uint32_t node{};
    std::uint32_t waited_for{};
    std::uint64_t count{};
    std::int64_t total_ns{};
  };
  struct TracedCall {
    std::uint32_t thread{};  ///< in the order in which threads noted their first call
    Call call;
  };

  /// By node. While no thread records.
  [[nodiscard]] std::vector<NodeStatistics> statistics() const;
  [[nodiscard]] std::vector<std::uint64_t> n_calls() const;
  [[nodiscard]] std::vector<Stall> stalls() const;
  [[nodiscard]] std::vector<TracedCall> trace() const;
  [[nodiscard]] std::uint64_t n_not_traced() const;
  [[nodiscard]] Loading loading_statistics() const;
  [[nodiscard]] Course course() const;

 private:
  OfThread& of_this_thread();
  void trace_other(OfThread& mine, const Call& call) noexcept;

  static thread_local Part mine_;

  std::size_t n_nodes_;
  std::int64_t origin_ns_ = now_ns();
  OnCall on_call_;  ///< may be empty
  std::uint64_t
      number_;  ///< number of the recorder in this process, unique even at a reused address
  std::atomic<std::int64_t> n_trace_left_;
  std::atomic<std::int64_t> n_others_left_{n_trace_left_.load()};  ///< for entries other than nodes
  std::atomic<std::uint64_t> n_not_traced_{};
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<OfThread>> threads_;
};

}  // namespace forkrun
