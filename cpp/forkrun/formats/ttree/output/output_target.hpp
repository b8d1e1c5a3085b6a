#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <forkrun/formats/table/output_table.hpp>
#include <forkrun/formats/ttree/output/kept_input.hpp>
#include <forkrun/formats/ttree/verify/samples.hpp>
#include <forkrun/formats/ttree/write/tree_target.hpp>

namespace forkrun::root_io {

/// A branch whose entries are copied as bytes, and where they are written.
struct KeptTarget {
  KeptBranch branch;
  int compression{};  ///< ROOT's number, in the first file
  std::unique_ptr<BranchTarget> target;
};

/// The file of an output, with what its tree takes from the input: forkrun writes trees of numbers,
/// ROOT all others.
class OutputTarget {
 public:
  /// \throws InputError, OutputError
  [[nodiscard]] static std::unique_ptr<OutputTarget> make(const std::string& path, KeptInput& input,
                                                          const OutputContent& content);
  OutputTarget() = default;
  virtual ~OutputTarget() = default;
  OutputTarget(const OutputTarget&) = delete;
  OutputTarget& operator=(const OutputTarget&) = delete;

  [[nodiscard]] virtual TreeTarget& tree() = 0;
  /// The branches whose entries are copied as bytes; given once.
  [[nodiscard]] virtual std::vector<KeptTarget> take_kept() = 0;
  /// Whether objects are among them.
  [[nodiscard]] virtual bool keeps_objects() const { return false; }
  /// Another file of the input is open.
  virtual void open() {}
  /// Adds entries to the branches whose bytes cannot be copied: ROOT reads and fills them.
  virtual void fill(std::span<const EntryRange> /*entries*/) {}
  /// All entries are there: before the tree is closed.
  virtual void finish(std::int64_t /*n_entries*/) {}
  /// What those branches have to hold.
  [[nodiscard]] virtual std::vector<SampledBranch> sampled() const { return {}; }
};

}  // namespace forkrun::root_io
