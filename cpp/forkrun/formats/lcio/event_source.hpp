#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <forkrun/core/data/source.hpp>
#include <forkrun/formats/lcio/columns.hpp>

namespace forkrun::lcio {

/// A file as indexed.
struct IndexedFile {
  std::string path;
  std::int64_t n_bytes{};
  std::int64_t modified_ns{};  ///< 0: unknown
};

struct EventSourceConfig {
  std::vector<IndexedFile> files;
  std::uint32_t events_per_lumi{};  ///< 0: a run is one lumi
  std::vector<ColumnDescription> columns;
  std::vector<std::vector<std::int64_t>> clusters;  ///< by file
  std::vector<std::string> expected;                ///< columns that modules will request
};

/// Events of LCIO files. Children open files; the readers of one process share the places of their
/// records.
class EventSource : public Source {
 public:
  explicit EventSource(EventSourceConfig config);

  [[nodiscard]] std::span<const ColumnDescription> columns() const override {
    return config_.columns;
  }
  void cut(const UnitOfWork& unit, std::size_t block_size, BlockList& blocks) const override;
  [[nodiscard]] std::unique_ptr<SourceLane> make_lane() override;

  [[nodiscard]] const EventSourceConfig& config() const { return config_; }
  [[nodiscard]] const std::vector<ColumnKey>& keys() const { return keys_; }
  [[nodiscard]] const WantedMembers& wanted() const { return wanted_; }
  /// \throws InputError if it is not the indexed file
  [[nodiscard]] std::shared_ptr<const EventFile> file(std::uint32_t number);

 private:
  EventSourceConfig config_;
  std::vector<ColumnKey> keys_;
  WantedMembers wanted_;
  std::mutex mutex_;
  std::map<std::uint32_t, std::shared_ptr<const EventFile>> files_;  ///< the latest ones
};

/// Columns of the entries [first, last) of a file; last < 0: to the end. \throws InputError
[[nodiscard]] std::vector<Column> read_columns(const EventFile& file,
                                               const std::vector<ColumnDescription>& columns,
                                               std::int64_t first, std::int64_t last);

}  // namespace forkrun::lcio
