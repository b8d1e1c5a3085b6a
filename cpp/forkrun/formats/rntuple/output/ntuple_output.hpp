#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <forkrun/formats/rntuple/output/kept_columns.hpp>
#include <forkrun/formats/rntuple/output/kept_fields.hpp>
#include <forkrun/formats/rntuple/output/ntuple_input.hpp>
#include <forkrun/formats/rntuple/write/ntuple_file.hpp>

namespace forkrun::rntuple {

/// Writes an output's events as an RNTuple: what its input has in one as it is there, all else in
/// the layout of CMS.
class NtupleOutput final : public OutputTable {
 public:
  /// `path`: of its file. \throws InputError, OutputError
  NtupleOutput(const std::string& path, NtupleInput& input, const OutputContent& content,
               std::size_t n_threads);
  /// In a file of which it is a part, and which is not closed.
  NtupleOutput(root_io::PlainFile& file, NtupleInput& input, const OutputContent& content,
               std::size_t n_threads);

  [[nodiscard]] double bytes_per_event() override;
  [[nodiscard]] double bytes_per_event(std::uint32_t file) override;
  [[nodiscard]] double wanted_cluster_bytes() const override;
  [[nodiscard]] bool keeps_whole() const override { return fields_.has_value(); }
  void expect(std::span<const EntryRange> clusters) override;
  [[nodiscard]] bool reads_copies_ahead() const override { return false; }
  void add(std::span<const EntryRange> entries, std::span<const NewValues> values) override;
  void add_whole(const EntryRange& entries, std::span<const NewValues> values) override;
  [[nodiscard]] double n_pending_bytes() override;
  void end_cluster() override;
  void finish() override;
  void check() const override;
  void abandon() noexcept override { own_file_->abandon(); }

  [[nodiscard]] std::int64_t n_entries() const { return n_entries_; }
  [[nodiscard]] const std::vector<WrittenPage>& samples() const { return ntuple_->samples(); }
  /// Names of branches that are no columns.
  [[nodiscard]] const std::vector<std::string>& left_out() const { return kept_->left_out(); }
  /// There are fields of which only whole clusters can be kept.
  [[nodiscard]] bool has_variants() const;

 private:
  NtupleOutput(const std::string& path, std::unique_ptr<root_io::PlainFile> own_file,
               root_io::PlainFile* file, NtupleInput& input, const OutputContent& content,
               std::size_t n_threads);
  void keep(Schema& schema, const std::set<std::string>& taken);
  void open(std::uint32_t file);
  void take_fields();
  void add_columns(std::span<const NewValues> values);
  [[nodiscard]] std::size_t n_fields() const;
  [[nodiscard]] std::size_t end_of_batch(std::size_t first) const;
  void fill(std::size_t column);
  void write(std::size_t column);

  NtupleInput& input_;
  const OutputContent& content_;
  std::size_t n_threads_;
  std::string path_;
  std::optional<KeptFields> fields_;  ///< the first columns
  std::optional<KeptColumns> kept_;   ///< by their values
  std::vector<FieldPlace> new_;       ///< of new columns
  std::unique_ptr<root_io::PlainFile> own_file_;
  root_io::PlainFile& file_;
  std::optional<NtupleFile> ntuple_;
  std::vector<PendingColumn> columns_;
  std::uint64_t n_in_cluster_{};
  double n_taken_bytes_{};  ///< of fields, in the present cluster
  std::int64_t n_entries_{};
};

}  // namespace forkrun::rntuple
