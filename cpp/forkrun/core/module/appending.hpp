#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <forkrun/core/data/counted.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/module/block.hpp>

namespace forkrun {

/// Fills jagged columns event by event with records, one value per column. The columns are written
/// at the end of the block's last event.
///
///     auto pairs = forkrun::append(block, mass_, pt_);    // columns of one collection
///     for (std::size_t event = 0; event < block.n_events(); ++event) {
///       pairs.push_back(91.2F, 40.0F);                    // any number of times
///       pairs.end_event();
///     }
template <typename... Ts>
class Appender {
 public:
  Appender(const EventBlock& block, const JaggedOutput<Ts>&... outputs)
      : block_{block}, outputs_{outputs...} {
    ends_.reserve(block.n_events());
    if (block.n_events() == 0) {
      write();
    }
  }

  /// Appends a record to the present event: a value for each column.
  void push_back(const Ts&... values) {
    push(std::index_sequence_for<Ts...>{}, values...);
    ++n_records_;
  }
  /// Records of the present event so far.
  [[nodiscard]] std::size_t size() const {
    return n_records_ - (ends_.empty() ? 0 : static_cast<std::size_t>(ends_.back()));
  }
  /// \throws Error if the block has no more events.
  void end_event() {
    if (ends_.size() == block_.n_events()) {
      throw Error{"end_event() was called for more than the " +
                  counted(block_.n_events(), "event") + " of the block"};
    }
    ends_.push_back(static_cast<std::int64_t>(n_records_));
    if (ends_.size() == block_.n_events()) {
      write();
    }
  }

 private:
  /// Type for storing: bool as bytes, since vector<bool> is no array.
  template <typename T>
  using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

  template <std::size_t... Is>
  void push(std::index_sequence<Is...> /*columns*/, const Ts&... values) {
    (std::get<Is>(values_).push_back(values), ...);
  }
  void write() { write_all(std::index_sequence_for<Ts...>{}); }
  template <std::size_t... Is>
  void write_all(std::index_sequence<Is...> /*columns*/) {
    (write_one(block_.make(std::get<Is>(outputs_)), std::get<Is>(values_)), ...);
  }
  template <typename T>
  void write_one(Column& column, const std::vector<T>& values) const {
    const auto offsets = column.resize_offsets(ends_.size());
    offsets[0] = 0;
    std::ranges::copy(ends_, offsets.begin() + 1);
    std::ranges::copy(values, reinterpret_cast<T*>(column.resize_values(values.size())));
  }

  const EventBlock& block_;
  std::tuple<JaggedOutput<Ts>...> outputs_;
  std::tuple<std::vector<Stored<Ts>>...> values_;
  std::vector<std::int64_t> ends_;  ///< records up to the end of each event
  std::size_t n_records_{};
};

/// An Appender for jagged columns that the module produces.
template <typename... Ts>
[[nodiscard]] Appender<Ts...> append(const EventBlock& block, const JaggedOutput<Ts>&... outputs) {
  return {block, outputs...};
}

}  // namespace forkrun
