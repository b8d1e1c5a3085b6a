#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include <forkrun/core/data/source.hpp>
#include <forkrun/formats/lcio/changed_event.hpp>
#include <forkrun/formats/lcio/written.hpp>
#include <forkrun/formats/table/output_table.hpp>

namespace forkrun::lcio {

/// Additions to an event, and their bytes.
struct Additions {
  Added added;
  Written blocks{};
  std::deque<Written> numbers{};
};

/// New columns of events to be written soon: one value per event becomes its parameter, a list a
/// collection of vectors. They have types of LCIO: `forkrun/formats/lcio.py`.
class NewColumns {
 public:
  explicit NewColumns(const std::vector<ColumnDescription>& columns);

  [[nodiscard]] bool empty() const { return columns_.empty(); }
  /// Columns of the next events.
  void add(std::span<const NewValues> values);
  /// Additions to the event with this number among them.
  [[nodiscard]] Additions of_event(std::size_t i) const;
  void forget();

 private:
  struct New {
    std::string name;
    std::string collection;  ///< its type; "": it is a parameter
    Column values;
  };
  std::vector<New> columns_;
};

}  // namespace forkrun::lcio
