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
#include <forkrun/formats/rntuple/write/ntuple_file.hpp>
#include <forkrun/formats/root_file/plain_file.hpp>

namespace forkrun::root_io {

/// The tables of files that are RNTuples in the merged file: those that are so in the first file
/// which has them, or all if that is asked for. Pages are copied as they are, where clusters are
/// large; small clusters are joined, and what trees hold is read column by column.
class JoinedNtuples {
 public:
  /// Looks which tables the inputs have. \throws InputError
  explicit JoinedNtuples(const MergeRequest& request);

  [[nodiscard]] const std::set<std::string>& paths() const { return paths_; }
  /// Writes them to a file, which is left open. `origins` follows their rows; `progress` gets the
  /// number of files done, of `n_steps`. \throws InputError, OutputError
  void write(PlainFile& file, Compression compression, Origins& origins,
             const std::function<void(std::size_t)>& progress);
  [[nodiscard]] std::size_t n_steps() const;
  /// By path.
  [[nodiscard]] const std::map<std::string, std::int64_t>& entries() const { return entries_; }
  /// Lines for people on what is not kept.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  /// Reads the complete file back. \throws VerificationFailed
  void check(const std::string& path) const;

 private:
  struct Part {
    std::size_t file{};  ///< number of the input
    bool is_ntuple{};
  };
  struct Joined {
    std::string path;
    std::vector<Part> parts;
    std::vector<rntuple::WrittenPage> samples{};
  };
  class Join;

  const MergeRequest& request_;
  std::vector<Joined> tables_;  ///< in the order in which they come
  std::set<std::string> paths_;
  std::map<std::string, std::int64_t> entries_;
  std::vector<std::string> notes_;
};

}  // namespace forkrun::root_io
