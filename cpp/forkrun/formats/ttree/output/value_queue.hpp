#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include <forkrun/formats/table/output_table.hpp>
#include <forkrun/fragments/selected_events.hpp>

namespace forkrun::root_io {

/// New columns of events that were read and are not written yet, in order.
class ValueQueue {
 public:
  void push(const Selected& selected) {
    const auto n = selected.entries.last - selected.entries.first;
    auto* before = parts_.empty() ? nullptr : &parts_.back();
    if (before != nullptr && before->columns == selected.columns &&
        before->events.last == selected.first_event) {
      before->events.last += n;
    } else {
      parts_.push_back({selected.columns, {selected.first_event, selected.first_event + n}});
    }
  }
  /// Those of the next n events; valid until the next `drop`.
  [[nodiscard]] std::vector<NewValues> next(std::int64_t n) const {
    std::vector<NewValues> values;
    for (auto part = parts_.begin(); n > 0; ++part) {
      const auto last = std::min(part->events.last, part->events.first + n);
      values.push_back({part->columns.get(), {part->events.first, last}});
      n -= last - part->events.first;
    }
    return values;
  }
  void drop(std::int64_t n) {
    while (n > 0) {
      auto& part = parts_.front();
      const auto taken = std::min(n, part.events.last - part.events.first);
      part.events.first += taken;
      n -= taken;
      if (part.events.first == part.events.last) {
        parts_.pop_front();
      }
    }
  }

 private:
  struct Part {
    std::shared_ptr<const std::vector<Column>> columns;
    EntryRun events;
  };
  std::deque<Part> parts_;
};

}  // namespace forkrun::root_io
