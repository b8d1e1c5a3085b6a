#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include <forkrun/formats/source/tree_source.hpp>
#include <forkrun/formats/table/output_table.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>

namespace forkrun::rntuple {

/// A file of the input, with its events.
struct OpenTable {
  std::unique_ptr<root_io::TreeFile> file;
  std::unique_ptr<Table> table;
};

/// The input of outputs in RNTuples: trees or RNTuples. One file is open at a time, or a few where
/// entries are not taken as they are stored, so that files take turns.
class NtupleInput final : public OutputInput {
 public:
  /// `on_open` gets the number of each file just before it is opened.
  NtupleInput(const root_io::TreeSourceConfig& source, std::function<void(std::size_t)> on_open);

  [[nodiscard]] const root_io::TreeSourceConfig& config() const { return source_; }
  /// The file that gives outputs their fields: the first with events; if none has any, the first.
  [[nodiscard]] std::uint32_t first_with_events() const;
  /// Valid until another file is opened. \throws InputError
  [[nodiscard]] std::shared_ptr<const OpenTable> open(std::uint32_t file);

  [[nodiscard]] bool is_remote(std::uint32_t file) const override;
  /// Begins of clusters; those of an RNTuple are ranges to copy, not places where reading may
  /// begin.
  [[nodiscard]] std::span<const std::int64_t> clusters(std::uint32_t file) override;
  [[nodiscard]] MakeTable tables(const OutputContent& content, std::size_t n_threads) override;
  void forget() override {}

 private:
  [[nodiscard]] std::shared_ptr<const OpenTable> opened(std::uint32_t file) const;

  const root_io::TreeSourceConfig& source_;
  std::function<void(std::size_t)> on_open_;
  std::map<std::uint32_t, std::shared_ptr<const OpenTable>> files_;
  std::map<std::uint32_t, std::vector<std::int64_t>> clusters_;
};

}  // namespace forkrun::rntuple
