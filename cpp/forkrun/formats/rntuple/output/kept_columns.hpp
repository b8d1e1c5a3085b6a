#pragma once

#include <memory>
#include <string>
#include <vector>

#include <forkrun/core/data/column.hpp>
#include <forkrun/formats/rntuple/output/kept_fields.hpp>
#include <forkrun/formats/rntuple/output/ntuple_input.hpp>

namespace forkrun::rntuple {

/// Kept branches of trees, by their values.
class KeptColumns final : public KeptFields {
 public:
  /// `names`: of branches; those that are no columns are left out. \throws InputError
  KeptColumns(NtupleInput& input, const std::vector<std::string>& names);

  void add_to(Schema& schema, NewFields& fields) override;
  [[nodiscard]] double bytes_per_event(std::uint32_t file) override;
  void add(std::span<const EntryRange> entries, std::span<PendingColumn> columns,
           std::size_t n_threads) override;
  [[nodiscard]] bool keeps_pages() const override { return false; }
  void add_whole(const EntryRange& entries, std::span<PendingColumn> columns, NtupleFile& file,
                 std::size_t n_threads) override;

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
  std::shared_ptr<const OpenTable> opened_;
};

}  // namespace forkrun::rntuple
