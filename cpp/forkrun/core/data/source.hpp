#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <forkrun/core/data/column.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/data/input_cost.hpp>
#include <forkrun/core/data/unit_of_work.hpp>

namespace forkrun {

/// A column that a source can make.
struct ColumnDescription {
  std::string name;
  ColumnType type;
};

/// Reader for one concurrent block. Lanes share nothing that needs a lock.
class SourceLane {
 public:
  virtual ~SourceLane() = default;

  /// Moves to a block and gives the event numbers of its events, in entry order; the span is valid
  /// until the next `load`. \throws InputError if an event is not of the lumi that `lumis` says.
  virtual std::span<const std::uint64_t> load(EntryRanges block, const BlockLumis& lumis) = 0;

  /// Makes one column of the loaded block. Called at most once per block and column, and for
  /// distinct columns at the same time. `column` indexes `Source::columns()`.
  virtual void read(std::size_t column, Column& into) = 0;

  /// The same for a column that the input stores under this name, whether or not it is one of the
  /// source. \throws Error if sources of this kind store nothing else.
  virtual void read_stored(const std::string& name, Column& /*into*/) {
    throw Error("\"" + name + "\" is not a column of this input");
  }

  /// Whether the input stores this name for all of the loaded block.
  [[nodiscard]] virtual bool has_stored(const std::string& /*name*/) const { return true; }

  /// Whether the lane makes use of `expect`.
  [[nodiscard]] virtual bool expects() const { return false; }
  /// Announces the next block, which may be read meanwhile. `lumis` need not outlive the call.
  virtual void expect(EntryRanges /*block*/, const BlockLumis& /*lumis*/) {}

  /// The lane that has the loaded block, where several take turns. Nothing else reads it any more.
  [[nodiscard]] virtual SourceLane& of_block() { return *this; }

  /// Earlier work for the column that was read last, or for the block that was loaded.
  struct Cost {
    std::int64_t start_ns{};  ///< CLOCK_MONOTONIC
    std::int64_t wall_ns{};
    std::int64_t cpu_ns{};
    InputCosts input{};
    bool is_ahead{};  ///< on a thread of its own
  };
  [[nodiscard]] virtual Cost cost_elsewhere() const { return {}; }

  struct Statistics {
    std::int64_t read_calls{};
    std::int64_t read_bytes{};
    std::int64_t cached_bytes{};  ///< bytes of remote files that were in the local cache
    Statistics& operator+=(const Statistics& other) {
      read_calls += other.read_calls;
      read_bytes += other.read_bytes;
      cached_bytes += other.cached_bytes;
      return *this;
    }
    friend Statistics operator-(const Statistics& a, const Statistics& b) {
      return {a.read_calls - b.read_calls, a.read_bytes - b.read_bytes,
              a.cached_bytes - b.cached_bytes};
    }
  };
  /// Totals of the lane; called between blocks.
  [[nodiscard]] virtual Statistics statistics() const { return {}; }
};

/// Source of events.
class Source {
 public:
  virtual ~Source() = default;

  [[nodiscard]] virtual std::span<const ColumnDescription> columns() const = 0;

  /// Cuts a unit into blocks of at most `block_size` events, in entry order, and adds them to
  /// `blocks`. Depends only on the unit, the input and the number of lanes. Blocks end at cluster
  /// boundaries of the input where that costs little. `block_size` 0: the source chooses.
  virtual void cut(const UnitOfWork& unit, std::size_t block_size, BlockList& blocks) const = 0;

  /// Announces the ranges that this process will most likely read first, in units still to come.
  virtual void expect(EntryRanges /*ranges*/) {}

  /// Called in the child, once per concurrent block. Opens nothing until the first `load`.
  [[nodiscard]] virtual std::unique_ptr<SourceLane> make_lane() = 0;
};

}  // namespace forkrun
