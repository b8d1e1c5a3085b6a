#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <forkrun/core/data/source.hpp>
#include <forkrun/formats/ttree/output/kept_input.hpp>
#include <forkrun/formats/ttree/output/output_target.hpp>
#include <forkrun/formats/ttree/verify/samples.hpp>
#include <forkrun/formats/ttree/write/branch_writer.hpp>
#include <forkrun/fragments/cluster_cutter.hpp>

namespace forkrun::root_io {

/// Writes an output's tree, a cluster at a time. Entries of kept branches are copied as bytes from
/// basket to basket, and baskets that are kept whole without being unzipped; branches of objects
/// whose bytes cannot be moved are read and filled by ROOT.
class OutputTree final : public OutputTable {
 public:
  /// `path`: of its file. \throws InputError, OutputError
  OutputTree(const std::string& path, KeptInput& input, const OutputContent& content,
             std::size_t n_threads);
  /// In a file at `path` of which it is a part, and which is not closed. `input`: null if nothing
  /// is kept.
  OutputTree(RecordFile& file, const std::string& path, KeptInput* input,
             const OutputContent& content, std::size_t n_threads);

  [[nodiscard]] double bytes_per_event() override;
  [[nodiscard]] double bytes_per_event(std::uint32_t file) override;
  [[nodiscard]] double wanted_cluster_bytes() const override;
  /// Whether baskets of the input may be copied as they are.
  [[nodiscard]] bool keeps_whole() const override { return keeps_baskets_; }

  void expect(std::span<const EntryRange> clusters) override;
  void add(std::span<const EntryRange> entries, std::span<const NewValues> values) override;
  void add_whole(const EntryRange& entries, std::span<const NewValues> values) override;
  [[nodiscard]] double n_pending_bytes() override;
  void end_cluster() override;
  void finish() override;
  void check() const override;
  void abandon() noexcept override { target_.abandon(); }

 private:
  struct NewColumn {
    std::size_t number{};
    std::string name;
    BranchWriter writer;
  };

  void add_branches();
  [[nodiscard]] bool stays_as_it_is(int compression) const;
  void open(std::uint32_t file);
  void wait(std::span<const EntryRange> entries);
  void copy_waiting();
  [[nodiscard]] std::size_t n_threads_for(std::span<const NumberedRun> runs, std::uint32_t file);
  void copy_records(std::span<const std::size_t> branches, const EntryRun& entries);
  void add_columns(std::span<const NewValues> values);
  [[nodiscard]] std::vector<BranchWriter*> writers();

  KeptInput* input_;
  const OutputContent& content_;
  std::size_t n_threads_;
  bool keeps_baskets_{};
  std::uint64_t generation_{};
  OutputTarget target_;
  std::vector<BranchWriter> kept_;
  std::vector<NewColumn> columns_;
  std::vector<NewColumn> counters_;  ///< of new jagged columns
  std::int64_t n_entries_{};         ///< with those of the present cluster
  std::vector<FilledPlace> places_;  ///< of kept branches
  std::string path_;
  Bytes chunk_;
  /// Entries to be copied, if they are not taken as they are stored; from each file together.
  std::map<std::uint32_t, std::vector<NumberedRun>> waiting_;
};

}  // namespace forkrun::root_io
