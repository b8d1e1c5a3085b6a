#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <forkrun/core/data/column.hpp>
#include <forkrun/core/data/unit_of_work.hpp>
#include <forkrun/fragments/fragment.hpp>

namespace forkrun {

/// Consecutive entries with their new columns.
struct Selected {
  EntryRange entries;
  std::shared_ptr<const std::vector<Column>> columns;
  std::int64_t first_event{};  ///< number of the first of these entries in the columns
};

/// Splits off the entries before this one.
[[nodiscard]] Selected split_off(Selected& from, std::int64_t entry);

/// Fragments whose events alternate: to be put in the order of their entries.
struct FragmentGroup {
  std::size_t number{};  ///< in the order of the input, for all outputs of a job alike
  std::vector<std::string> fragments;
};

/// The children's selection for an output, in the order of the output; read piece by piece.
class SelectedEvents {
 public:
  /// `columns`: wanted columns of fragments; null: none; `before_group` gets the number, in this
  /// list, of the group that is read next. \throws InputError if a fragment lacks one.
  SelectedEvents(const std::vector<FragmentGroup>& groups,
                 const std::vector<ColumnDescription>* columns,
                 const std::function<void(std::size_t)>& before_group);

  /// The next piece; null at the end. \throws InputError
  [[nodiscard]] const Selected* front();
  /// Takes its entries before this entry of the file; there must be one.
  [[nodiscard]] Selected take_before(std::int64_t entry);
  /// Number of the group of `front`.
  [[nodiscard]] std::size_t group() const { return groups_[next_group_ - 1].number; }

 private:
  void open_group();
  [[nodiscard]] FragmentReader open(const std::string& path);
  void add_piece(FragmentPiece piece);

  const std::vector<FragmentGroup>& groups_;
  const std::vector<ColumnDescription>* columns_;
  const std::function<void(std::size_t)>& before_group_;
  std::size_t next_group_{};
  std::optional<FragmentReader> reader_;
  std::vector<std::size_t> wanted_;  ///< numbers of the columns, in the latest fragment
  std::deque<Selected> next_;
};

}  // namespace forkrun
