#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <forkrun/core/data/event_id.hpp>
#include <forkrun/formats/lcio/event_file.hpp>

namespace forkrun::lcio {

/// A file of the input, and the contents of its records.
class InputRecords {
 public:
  /// Reads the headers of all events. \throws InputError
  explicit InputRecords(std::shared_ptr<const EventFile> file);

  [[nodiscard]] const EventFile& file() const { return *file_; }
  [[nodiscard]] std::int64_t n_events() const { return std::ssize(ids_); }
  [[nodiscard]] const EventId& id(std::int64_t entry) const {
    return ids_[static_cast<std::size_t>(entry)];
  }
  [[nodiscard]] const StoredEvent& event(std::int64_t entry) const {
    return file_->events()[static_cast<std::size_t>(entry)];
  }
  /// Digest of all events, with a run as one lumi.
  [[nodiscard]] EventDigest digest() const;
  /// Names of columns.
  [[nodiscard]] const std::set<std::string>& collections() const { return collections_; }
  /// Places of events.
  [[nodiscard]] const std::set<std::string>& parameters() const { return parameters_; }

  /// A run, and the record of its header.
  using Header = std::pair<std::int32_t, std::vector<std::byte>>;
  /// In the order of the file.
  [[nodiscard]] const std::vector<Header>& headers() const { return headers_; }
  /// Header of an event's run: the last before it, else the first; null: none.
  [[nodiscard]] const Header* header_of(std::int64_t entry) const {
    return header_of_[static_cast<std::size_t>(entry)];
  }

 private:
  void find_headers();

  std::shared_ptr<const EventFile> file_;
  std::vector<EventId> ids_;
  std::set<std::string> collections_, parameters_;
  std::vector<Header> headers_;
  std::vector<const Header*> header_of_;
};

/// Record of each run header of a file. \throws InputError
[[nodiscard]] std::vector<InputRecords::Header> header_records(const EventFile& file);

/// Writes an LCIO file. A run header is written before the first event of its run, and again where
/// later events have another one.
class RecordWriter {
 public:
  /// A new file. \throws OutputError
  explicit RecordWriter(const std::string& path);
  /// Continues a closed file, after its last event or run header. \throws OutputError
  RecordWriter(const std::string& path, const InputRecords& of);
  ~RecordWriter();
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  // \throws OutputError
  /// Header of a run, before its events, unless it is the latest of this run.
  void add_run(const InputRecords::Header& header);
  /// Header of a run perhaps without events, if it was not written.
  void add_header(const InputRecords::Header& header);
  /// The two records of an event.
  void add_event(std::int32_t run, std::int32_t event, std::span<const std::byte> records);
  /// Header of the run of `records`, if any.
  void add_event_of(const InputRecords& from, std::int64_t entry,
                    std::span<const std::byte> records);
  /// Copies events [first, last). \throws InputError
  void copy(const InputRecords& from, std::int64_t first, std::int64_t last);
  /// Adds the records for random access.
  void close();

 private:
  struct Key {
    std::int32_t run{}, event{};
    std::int64_t place{};
  };

  void note_event(const EventId& id, std::int64_t place);
  void write(std::span<const std::byte> bytes);
  void write_index();
  void write_access(const std::vector<Key>& keys, std::int64_t index);
  void flush();

  std::string path_;
  int descriptor_ = -1;
  std::int64_t n_bytes_{};
  std::vector<std::byte> pending_;
  std::map<std::int32_t, std::vector<std::byte>> last_;  ///< header of each run
  std::map<std::int32_t, std::int64_t> runs_;            ///< place of that header
  std::set<InputRecords::Header> written_;
  std::vector<Key> events_;
};

/// Joins files in the given order; returns the digest of their events. `has_all_runs`: also headers
/// of runs without events. \throws InputError, OutputError
EventDigest join_files(const std::vector<std::string>& inputs, const std::string& output,
                       bool verifies, bool has_all_runs);

/// Adds missing run headers of the inputs to a closed file. `n_bytes`: sizes of the inputs as
/// indexed; empty: not compared. \throws InputError, OutputError
void carry_headers(const std::vector<std::string>& inputs, const std::string& output,
                   const std::vector<std::int64_t>& n_bytes);

}  // namespace forkrun::lcio
