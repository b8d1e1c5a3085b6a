#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <forkrun/formats/merge/file_merger.hpp>
#include <forkrun/formats/merge/origins.hpp>
#include <forkrun/formats/root_file/record_file.hpp>
#include <forkrun/formats/table/output_table.hpp>

namespace forkrun::root_io {

/// The tables of a merge that are made as outputs are, of all rows: RNTuples (those that are so in
/// the first file which has them, or all if that is asked for), trees whose files differ in their
/// fields, and trees that are RNTuples in some files. Large clusters are copied as they are, small
/// ones are joined, and what is stored in another form is read column by column.
class JoinedTables {
 public:
  /// Looks which tables the inputs have. \throws InputError
  explicit JoinedTables(const MergeRequest& request);

  [[nodiscard]] const std::set<std::string>& paths() const { return paths_; }
  /// Whether other trees are wanted, which keep their structure.
  [[nodiscard]] bool has_others() const { return has_others_; }
  [[nodiscard]] bool has(OutputFormat format) const;
  /// Whether ROOT has to write any of the trees.
  [[nodiscard]] bool needs_root();
  /// Writes those of a format to a file, which is left open. `origins` follows their rows;
  /// `progress` gets the number of tables of files done, of `n_steps`. \throws InputError,
  /// OutputError
  void write(OutputFormat format, RecordFile& file, Compression compression, Origins& origins,
             const std::function<void(std::size_t)>& progress);
  [[nodiscard]] std::size_t n_steps() const;
  /// By path.
  [[nodiscard]] const std::map<std::string, std::int64_t>& entries() const { return entries_; }
  /// Lines for people on what is not kept.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  /// Reads the complete file back. \throws VerificationFailed
  void check() const;

 private:
  struct Part {
    std::size_t file{};  ///< number of the input
    bool is_ntuple{};
  };
  struct Joined {
    std::string path;
    OutputFormat format;
    std::vector<Part> parts{};
    OutputContent content{};
    std::function<void()> check{};
  };
  class Join;

  const MergeRequest& request_;
  std::vector<Joined> tables_;  ///< in the order in which they come
  std::set<std::string> paths_;
  bool has_others_ = false;
  std::size_t n_done_{};
  std::map<std::string, std::int64_t> entries_;
  std::vector<std::string> notes_;
};

}  // namespace forkrun::root_io
