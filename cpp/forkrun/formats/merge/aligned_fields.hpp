#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <forkrun/formats/source/filled_column.hpp>
#include <forkrun/formats/table/output_table.hpp>
#include <forkrun/formats/table/table.hpp>
#include <forkrun/formats/ttree/layout/leaf_form.hpp>
#include <forkrun/fragments/cluster_cutter.hpp>

namespace forkrun::root_io {

/// Fields of a merged table whose files differ in them.
struct AlignedFields {
  std::vector<std::string> kept;   ///< that all files have alike
  std::vector<NewBranch> written;  ///< by their values, counters before their lists

  /// Adds them to the content of an output.
  void add_to(OutputContent& content) const;
};

/// Values of the written fields in one file: 0, false or empty where it has none, and converted
/// where they have a smaller type there.
class AlignedColumns {
 public:
  /// `table` outlives it. \throws InputError
  AlignedColumns(const AlignedFields& fields, const Table& table);

  /// Uncompressed bytes of what is read.
  [[nodiscard]] double bytes_per_event() const;
  /// Values of all these entries; valid until the next call. \throws InputError
  [[nodiscard]] std::vector<NewValues> read(std::span<const EntryRange> entries,
                                            std::size_t n_threads);

 private:
  struct Written {
    ColumnType type;
    std::unique_ptr<ColumnReader> reader{};  ///< null: it is filled
    std::optional<FilledColumn> filled{};
    Column stored{};  ///< values of a smaller type

    void read(const EntryRange& entries, Column& into);
  };

  const Table& table_;
  std::vector<Written> written_;
  std::vector<std::vector<Column>> columns_;  ///< by range
};

/// Adds entries to a table that a merge makes.
class MergeSink final : public ClusterSink {
 public:
  using ValuesOf = std::function<std::vector<NewValues>(std::span<const EntryRange>)>;

  /// `values_of`: gives the values of written fields.
  MergeSink(OutputTable& table, ValuesOf values_of)
      : table_{table}, values_of_{std::move(values_of)} {}

  void add(std::span<const EntryRange> entries) override {
    table_.add(entries, values_of_(entries));
  }
  void add_whole(const EntryRange& entries) override {
    table_.add_whole(entries, values_of_({&entries, 1}));
  }
  [[nodiscard]] double n_bytes() const override { return table_.n_pending_bytes(); }
  void end_cluster(std::int64_t /*n_events*/) override { table_.end_cluster(); }

 private:
  OutputTable& table_;
  ValuesOf values_of_;
};

}  // namespace forkrun::root_io
