#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include <forkrun/core/data/event_id.hpp>

namespace forkrun {

/// Consecutive events of one lumi, in a block or unit: they begin where the previous span ends and
/// end before event number `last`.
struct LumiSpan {
  LumiId lumi{};
  std::size_t last{};
};

/// Lumis of a block's events: one for all, or several in the order of events.
class BlockLumis {
 public:
  BlockLumis() = default;
  BlockLumis(LumiId only) : first_{only} {}  // NOLINT(google-explicit-constructor): the usual case
  /// `spans` are not copied; at least one.
  explicit BlockLumis(std::span<const LumiSpan> spans)
      : first_{spans.front().lumi},
        spans_{spans.size() > 1 ? spans : std::span<const LumiSpan>{}} {}

  [[nodiscard]] bool is_one() const { return spans_.empty(); }
  [[nodiscard]] std::size_t size() const { return is_one() ? 1 : spans_.size(); }
  [[nodiscard]] LumiId first() const { return first_; }
  [[nodiscard]] LumiId of(std::size_t event) const {
    return is_one() ? first_ : span_of(event)->lumi;
  }

  /// Calls use(lumi, first, last) for each lumi that has some of the events [first, last).
  template <typename Use>
  void for_each(std::size_t first, std::size_t last, const Use& use) const {
    if (is_one()) {
      use(first_, first, last);
      return;
    }
    for (auto span = span_of(first); first < last; ++span) {
      const auto end = std::min(span->last, last);
      use(span->lumi, first, end);
      first = end;
    }
  }

  /// Span of an event, for several lumis.
  [[nodiscard]] LumiSpan span_at(std::size_t event) const { return *span_of(event); }

 private:
  [[nodiscard]] std::span<const LumiSpan>::iterator span_of(std::size_t event) const {
    return std::ranges::upper_bound(spans_, event, {}, &LumiSpan::last);
  }

  LumiId first_{};
  std::span<const LumiSpan> spans_;  ///< empty if there is one
};

}  // namespace forkrun
