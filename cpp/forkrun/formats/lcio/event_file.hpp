#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <forkrun/bytes/byte_source.hpp>
#include <forkrun/formats/lcio/event_header.hpp>

namespace forkrun::lcio {

/// The two records of an event in a file: its header's, from `place` on, and the event's, which
/// ends at `end`.
struct StoredEvent {
  std::int64_t place{};
  std::int64_t body{};
  std::int64_t end{};
  std::uint32_t n_data{};  ///< uncompressed bytes of the event
};

/// An LCIO file that is open for reading, and the places of its records. Any thread.
class EventFile {
 public:
  /// Scans the file from record head to record head: so files without records for random access,
  /// and files with others appended, are read alike. \throws InputError
  explicit EventFile(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::int64_t n_bytes() const { return bytes_->n_bytes(); }
  [[nodiscard]] std::int64_t modified_ns() const { return bytes_->modified_ns(); }
  [[nodiscard]] const std::vector<StoredEvent>& events() const { return events_; }
  /// Records of run headers, and their content.
  struct Run {
    RecordHead head;
    std::vector<std::byte> data;  ///< to which the header refers
    RunHeader header;
  };
  [[nodiscard]] const std::vector<Run>& runs() const { return runs_; }
  /// Records of the places of events, one for each written part.
  [[nodiscard]] const std::vector<RecordHead>& indexes() const { return indexes_; }
  /// The first header of this run; nullptr: none.
  [[nodiscard]] const RunHeader* run_header(std::int32_t run) const;
  /// The record at this place, which must be one of the records found. \throws InputError
  [[nodiscard]] RecordHead head_at(std::int64_t place) const;
  /// The stored data of a record. \throws InputError
  [[nodiscard]] std::vector<std::byte> stored(const RecordHead& head) const;
  /// The data of a record. \throws InputError
  [[nodiscard]] std::vector<std::byte> restored(const RecordHead& head) const;
  /// Unpacks the two records of an event, compares their checksums, scans their blocks, and looks
  /// for all collections. \throws InputError
  void check_event(std::size_t entry) const;
  /// Fills `into` from this place. \throws InputError at the end of the file
  void read(std::int64_t place, std::span<std::byte> into, ReadAccount& account) const;

 private:
  void find_records();
  void note(const RecordHead& head, std::int64_t& header);
  void expect_records() const;

  std::string path_;
  std::shared_ptr<ByteSource> bytes_;
  std::vector<StoredEvent> events_;
  std::vector<Run> runs_;
  std::vector<RecordHead> indexes_;
};

/// Entry of an index: place of an event's first record. `event` of a run header is -1.
struct IndexEntry {
  std::int32_t run{};
  std::int32_t event{};
  std::int64_t place{};
};
/// Entries of a record LCIOIndex. \throws InputError
[[nodiscard]] std::vector<IndexEntry> index_entries(std::span<const std::byte> data);

}  // namespace forkrun::lcio
