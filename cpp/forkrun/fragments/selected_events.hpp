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
  std::int64_t first_event{};  ///< of these entries, in the columns
};

/// Takes the first entries, those before this one, away from others.
[[nodiscard]] Selected split_off(Selected& from, std::int64_t entry);

/// Fragments whose events alternate: they are put in the order of their entries.
struct FragmentGroup {
  std::size_t number{};  ///< in the order of the input, for all outputs of a job alike
  std::vector<std::string> fragments;
};

/// What children have selected for an output, in the order of the output; read as it is asked for.
class SelectedEvents {
 public:
  /// `columns`: those of a fragment that are wanted; null: none; `before_group` gets the number, in
  /// this list, of the group that is read next. \throws InputError if a fragment lacks one.
  SelectedEvents(const std::vector<FragmentGroup>& groups,
                 const std::vector<ColumnDescription>* columns,
                 const std::function<void(std::size_t)>& before_group);

  /// The next ones; null at the end. \throws InputError
  [[nodiscard]] const Selected* front();
  /// Takes those of them that are before this entry of the file; there must be one.
  [[nodiscard]] Selected take_before(std::int64_t entry);
  /// The number of the group that `front` is of.
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
  std::vector<std::size_t>
      wanted_;  ///< numbers of the columns, in the fragment that was opened last
  std::deque<Selected> next_;
};

}  // namespace forkrun
