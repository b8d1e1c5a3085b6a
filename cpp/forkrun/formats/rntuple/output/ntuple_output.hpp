#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <forkrun/formats/rntuple/output/kept_columns.hpp>
#include <forkrun/formats/rntuple/output/ntuple_input.hpp>
#include <forkrun/formats/rntuple/write/ntuple_file.hpp>

namespace forkrun::rntuple {

/// Writes an output's events as an RNTuple, in the layout of CMS.
class NtupleOutput final : public OutputTable {
 public:
  /// `path`: of its file. \throws InputError, OutputError
  NtupleOutput(const std::string& path, NtupleInput& input, const OutputContent& content,
               std::size_t n_threads);

  [[nodiscard]] double bytes_per_event() override;
  [[nodiscard]] double bytes_per_event(std::uint32_t file) override;
  [[nodiscard]] double wanted_cluster_bytes() const override;
  [[nodiscard]] bool keeps_whole() const override { return false; }
  void add(std::span<const EntryRange> entries, std::span<const NewValues> values) override;
  void add_whole(const EntryRange& entries, std::span<const NewValues> values) override;
  [[nodiscard]] double n_pending_bytes() override;
  void end_cluster() override;
  void finish() override;
  void check() const override;
  void abandon() noexcept override { file_->abandon(); }

 private:
  void add_columns(std::span<const NewValues> values);

  NtupleInput& input_;
  const OutputContent& content_;
  std::size_t n_threads_;
  std::string path_;
  KeptColumns kept_;
  std::vector<FieldPlace> new_;  ///< of new columns
  std::unique_ptr<root_io::PlainFile> file_;
  std::optional<NtupleFile> ntuple_;
  std::vector<PendingColumn> columns_;
  std::uint64_t n_in_cluster_{};
  std::int64_t n_entries_{};
};

}  // namespace forkrun::rntuple
