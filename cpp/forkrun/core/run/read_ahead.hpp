#pragma once

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include <forkrun/core/data/source.hpp>

namespace forkrun {

/// Reads the expected block on a thread of its own, while modules work on the loaded one: the
/// columns requested for the previous block. Both threads share the columns of a block that is
/// already wanted. Modules never run on that thread.
///
/// Two lanes of the source take turns: one has the loaded block, the other the expected one. A
/// failure on the thread is passed over: the column is read again, and fails, when it is requested.
class ReadAheadLane final : public SourceLane {
 public:
  explicit ReadAheadLane(Source& source);
  ReadAheadLane(const ReadAheadLane&) = delete;
  ReadAheadLane& operator=(const ReadAheadLane&) = delete;
  ~ReadAheadLane() override;

  std::span<const std::uint64_t> load(EntryRanges block, const BlockLumis& lumis) override;
  void read(std::size_t column, Column& into) override;
  [[nodiscard]] bool expects() const override { return true; }
  void expect(EntryRanges block, const BlockLumis& lumis) override;
  [[nodiscard]] SourceLane& of_block() override;
  [[nodiscard]] Cost cost_elsewhere() const override { return cost_; }
  [[nodiscard]] Statistics statistics() const override;

 private:
  using Lock = std::unique_lock<std::mutex>;

  enum class State : std::uint8_t {
    to_do,
    taken,  ///< being read, on either thread
    done,
    left,  ///< to the requester: it failed, is not read ahead, or was given away
  };

  struct WantedColumn {
    std::size_t number{};
    State state = State::to_do;
    Column values{};
    Cost cost{};
  };

  /// One of two readers that take turns.
  struct Turn {
    std::unique_ptr<SourceLane> lane;
    std::vector<EntryRange> block{};
    std::vector<LumiSpan> lumis{};
    [[nodiscard]] bool expects(EntryRanges wanted) const {
      return is_expected && std::ranges::equal(block, wanted);
    }
    bool is_expected{};  ///< and not loaded by its reader yet
    State loading = State::to_do;
    std::span<const std::uint64_t> events{};
    std::vector<WantedColumn> wanted{};
    Cost loading_cost{};
    Statistics statistics{};  ///< before the current reading
  };

  // With the lock held; functions with a lock argument release it meanwhile.
  [[nodiscard]] Turn& loaded() { return turns_.at(loaded_); }
  [[nodiscard]] Turn& other() { return turns_.at(1 - loaded_); }
  void begin(Turn& turn, EntryRanges block);
  void drop(Turn& turn, Lock& lock);
  [[nodiscard]] WantedColumn* next_column(Turn& turn) const;
  [[nodiscard]] bool do_next(Lock& lock);
  void load_lane(Turn& turn, Lock& lock);
  void read_column(Turn& turn, WantedColumn& column, Lock& lock);
  template <typename Body>
  [[nodiscard]] Cost cost_of(Body body) const;
  void start_thread();
  void work();

  std::span<const ColumnDescription> columns_;
  std::thread thread_{};  ///< started at the first expected block
  Cost cost_{};           ///< of the latest request

  mutable std::mutex mutex_;  ///< for all members below except columns being read
  std::condition_variable changed_;
  std::array<Turn, 2> turns_{};
  std::size_t loaded_ = 0;
  const Turn* busy_{};              ///< turn for which the thread is reading
  std::vector<std::size_t> asked_;  ///< columns requested for the loaded block, in this order
  std::vector<std::size_t> usual_;  ///< the same for the previous block
  bool is_over_{};
};

}  // namespace forkrun
