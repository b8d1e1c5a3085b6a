#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/data/source.hpp>

namespace forkrun::testing {

/// Event number of an entry: every lumi has the entries that its unit names.
inline std::uint64_t event_at(std::int64_t entry) {
  return 1000 + static_cast<std::uint64_t>(entry);
}

/// Events without a file: entry i is event 1000 + i; an empty range is a block of no events. Column
/// "x": (n_events,) int64, three times the event number; "y": the event number; "v": jagged int32,
/// event number modulo 4 values 0, 1, 2.
class MemorySource final : public Source {
 public:
  /// Where to fail, and what was asked for.
  struct Control {
    std::optional<std::uint64_t> load_fails_at{};
    std::optional<std::uint64_t> x_fails_at{};
    std::atomic<int> n_loads{};
    std::atomic<int> n_reads[3]{};
  };

  [[nodiscard]] static std::vector<ColumnDescription> description() {
    return {{"x", ColumnType::parse("int64")},
            {"y", ColumnType::parse("int64")},
            {"v", ColumnType::parse("int32[]")}};
  }

  [[nodiscard]] std::span<const ColumnDescription> columns() const override { return columns_; }

  void cut(const UnitOfWork& unit, std::size_t block_size, BlockList& blocks) const override {
    const auto size = static_cast<std::int64_t>(block_size == 0 ? 10 : block_size);
    for (const auto& range : unit.ranges) {
      for (auto first = range.first; first < range.last; first += size) {
        blocks.begin({range.file, first, std::min(first + size, range.last)});
      }
      if (range.first == range.last) {
        blocks.begin(range);
      }
    }
  }

  [[nodiscard]] std::unique_ptr<SourceLane> make_lane() override {
    return std::make_unique<MemoryLane>(control);
  }

  Control control;

 private:
  class MemoryLane final : public SourceLane {
   public:
    explicit MemoryLane(Control& control) : control_{control} {}

    std::span<const std::uint64_t> load(EntryRanges block, const BlockLumis& /*lumis*/) override {
      ++control_.n_loads;
      events_.clear();
      for (const auto& range : block) {
        for (auto entry = range.first; entry < range.last; ++entry) {
          fail_at(control_.load_fails_at, event_at(entry), "no such entry");
          events_.push_back(event_at(entry));
        }
      }
      ++statistics_.read_calls;
      return events_;
    }

    void read(std::size_t column, Column& into) override {
      ++control_.n_reads[column];
      if (column == 2) {
        read_jagged(into);
        return;
      }
      const auto values = into.fill_scalar<std::int64_t>(events_.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (column == 0) {
          fail_at(control_.x_fails_at, events_[i], "bad basket");
        }
        values[i] = static_cast<std::int64_t>(events_[i]) * (column == 0 ? 3 : 1);
      }
    }

    [[nodiscard]] Statistics statistics() const override { return statistics_; }

   private:
    static void fail_at(std::optional<std::uint64_t> where, std::uint64_t event,
                        const std::string& why) {
      if (where == event) {
        throw InputError{why};
      }
    }

    void read_jagged(Column& into) const {
      const auto offsets = into.resize_offsets(events_.size());
      offsets[0] = 0;
      for (std::size_t i = 0; i < events_.size(); ++i) {
        offsets[i + 1] = offsets[i] + static_cast<std::int64_t>(events_[i] % 4);
      }
      const auto n_values = static_cast<std::size_t>(offsets.back());
      auto* values = reinterpret_cast<std::int32_t*>(into.resize_values(n_values));
      for (std::size_t i = 0; i < events_.size(); ++i) {
        for (auto at = offsets[i]; at < offsets[i + 1]; ++at) {
          values[at] = static_cast<std::int32_t>(at - offsets[i]);
        }
      }
    }

    Control& control_;
    std::vector<std::uint64_t> events_;
    Statistics statistics_;
  };

  std::vector<ColumnDescription> columns_ = description();
};

/// Entries [first, last) as unit 0 of run 1, lumi `lumi`.
inline UnitOfWork unit_of(std::int64_t first, std::int64_t last, std::uint32_t lumi = 1,
                          std::uint32_t run = 1) {
  return {0, {run, lumi}, {{0, first, last}}};
}

}  // namespace forkrun::testing
