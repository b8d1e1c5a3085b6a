#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <forkrun/core/data/event_id.hpp>
#include <forkrun/formats/table/table.hpp>

namespace forkrun::root_io {

/// The branches that hold the event id. Empty names: the ids are run 1, lumi `file number + 1` and
/// event `entry number`.
struct IdBranches {
  std::string run;
  std::string lumi;
  std::string event;
};

/// Reads the ids of a range of entries, from the id branches or from the entries' numbers.
class EventIds {
 public:
  /// \throws InputError if a branch is missing or of no integers, which lists of one may hold, too.
  EventIds(const Table& table, const std::string& path, const IdBranches& names,
           std::uint32_t file_number);

  /// Moves to entries [first, last).
  void load(std::int64_t first, std::int64_t last);
  [[nodiscard]] LumiId lumi(std::size_t i) const { return {runs_.values[i], lumis_.values[i]}; }
  [[nodiscard]] std::span<const std::uint64_t> events() const { return events_.values; }
  /// Adds what `load` reads of the file.
  void add_parts(std::int64_t first, std::int64_t last, std::vector<StoredPart>& to) const;

 private:
  /// One integer per event, of any width, widened to T.
  template <typename T>
  struct IdColumn {
    IdColumn(const Table& table, const std::string& path, const std::string& name,
             const char* what);
    /// \throws InputError naming the first value that is no number of what this column holds.
    void load(std::int64_t first, std::int64_t last);

    std::string path;
    std::string name;
    const char* number_of;
    std::unique_ptr<ColumnReader> reader;  ///< none: `values` are made up
    Column column;
    std::vector<T> values;
  };

  std::uint32_t file_number_;
  IdColumn<std::uint32_t> runs_;
  IdColumn<std::uint32_t> lumis_;
  IdColumn<std::uint64_t> events_;
};

}  // namespace forkrun::root_io
