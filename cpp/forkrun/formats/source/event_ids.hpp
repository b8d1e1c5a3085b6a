#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <forkrun/core/data/event_id.hpp>
#include <forkrun/formats/table/table.hpp>

namespace forkrun::root_io {

/// Branches with the event id. Empty names: the ids are run 1, lumi `file number + 1` and event
/// `entry number`.
struct IdBranches {
  std::string run;
  std::string lumi;
  std::string event;
};

/// Reads the ids of a range of entries, from the id branches or the entry numbers.
class EventIds {
 public:
  /// \throws InputError if a branch is missing or has no integers; lists of one integer count.
  EventIds(const Table& table, const std::string& path, const IdBranches& names,
           std::uint32_t file_number);

  /// Moves to entries [first, last).
  void load(std::int64_t first, std::int64_t last);
  [[nodiscard]] LumiId lumi(std::size_t i) const { return {runs_.values[i], lumis_.values[i]}; }
  [[nodiscard]] std::span<const std::uint64_t> events() const { return events_.values; }
  /// Adds the ranges of the file that `load` reads.
  void add_parts(std::int64_t first, std::int64_t last, std::vector<StoredPart>& to) const;

 private:
  /// One integer per event, of any width, widened to T.
  template <typename T>
  struct IdColumn {
    IdColumn(const Table& table, const std::string& path, const std::string& name,
             const char* what);
    /// \throws InputError naming the first value that does not fit into this column.
    void load(std::int64_t first, std::int64_t last);

    std::string path;
    std::string name;
    const char* number_of;
    std::unique_ptr<ColumnReader> reader;  ///< none: `values` are computed
    Column column;
    std::vector<T> values;
  };

  std::uint32_t file_number_;
  IdColumn<std::uint32_t> runs_;
  IdColumn<std::uint32_t> lumis_;
  IdColumn<std::uint64_t> events_;
};

}  // namespace forkrun::root_io
