#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <forkrun/core/data/column.hpp>
#include <forkrun/formats/rntuple/output/ntuple_input.hpp>
#include <forkrun/formats/rntuple/write/new_fields.hpp>
#include <forkrun/formats/rntuple/write/pending_column.hpp>

namespace forkrun::rntuple {

/// The fields of an output that are kept of its input, by their values.
class KeptColumns {
 public:
  /// `names`: of branches; those that are no columns are left out. \throws InputError
  KeptColumns(NtupleInput& input, const std::vector<std::string>& names);

  /// Adds them to a schema that has none yet, and says of their lists which counter they have.
  void add_to(NewFields& fields);
  /// Uncompressed bytes that they have in an event of this file.
  [[nodiscard]] double bytes_per_event(std::uint32_t file);
  /// Adds what will be read for the events of a cluster. \throws InputError
  void add_parts(const EntryRange& cluster, std::vector<StoredPart>& to);
  /// Adds entries of one file to their columns. \throws InputError
  void add(std::span<const EntryRange> entries, std::span<PendingColumn> columns,
           std::size_t n_threads);

  /// Names of those that are no columns, and have no members that are.
  [[nodiscard]] const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  struct Kept {
    NewField field;
    FieldPlace place{};
    std::unique_ptr<ColumnReader> reader{};  ///< of the file that is open
    Column values{};
  };

  void open(std::uint32_t file);
  static void add(Kept& kept, std::span<const EntryRun> runs, std::span<PendingColumn> columns);
  void require_same_counts(std::span<PendingColumn> columns) const;

  NtupleInput& input_;
  std::vector<Kept> kept_;
  std::vector<std::string> left_out_;
  std::shared_ptr<const OpenTable> opened_;
};

}  // namespace forkrun::rntuple
