#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/merge/aligned_fields.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>

namespace forkrun::root_io {

/// Reason to write trees of an input again: they were RNTuples, or have other fields.
enum class MadeOf { ntuples, fields };
/// Path of the file with such trees, next to the output.
[[nodiscard]] std::string path_of_trees(const std::string& output, std::size_t input,
                                        MadeOf made_of = MadeOf::ntuples);

/// A text that names the inputs in the place of such files.
[[nodiscard]] std::string with_inputs(std::string text, const std::vector<std::string>& inputs,
                                      const std::string& output);
/// Calls `body`, whose errors do so.
template <typename Body>
auto naming_inputs(const std::vector<std::string>& inputs, const std::string& output, Body body) {
  try {
    return body();
  } catch (const InputError& error) {
    throw InputError(with_inputs(error.what(), inputs, output));
  } catch (const OutputError& error) {
    throw OutputError(with_inputs(error.what(), inputs, output));
  }
}

/// RNTuples of a file as trees of the same names in a temporary file, which records that their rows
/// come from the former.
class NtuplesAsTrees {
 public:
  /// Rows whose origins that file records: all, or those whose origins the other file records.
  enum class OriginsOf { all_rows, carried };
  /// Writes nothing if none is wanted. `path`: of the file to make.
  /// \throws InputError naming the field that no branch can hold, OutputError
  NtuplesAsTrees(TreeFile& file, const std::function<bool(const std::string& ntuple)>& is_wanted,
                 const std::string& path, OriginsOf origins_of);
  ~NtuplesAsTrees();
  NtuplesAsTrees(const NtuplesAsTrees&) = delete;
  NtuplesAsTrees& operator=(const NtuplesAsTrees&) = delete;

  /// Empty if there are none.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  /// Path of the file of the trees.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Whether one of them has no entries, or no branches: a merge may need its structure in the end.
  [[nodiscard]] bool has_empty() const { return has_empty_; }

 private:
  std::string path_;
  std::vector<std::string> names_;
  bool has_empty_ = false;
};

/// Trees of an input with the fields that they have in the merged file, in a file of their own,
/// which is removed in the end. It has the origins of their rows that the input records.
class AlignedTrees {
 public:
  /// `ntuples`: those of the same input as trees; `asked`: name of a tree in the input, with a
  /// cycle where not the newest is wanted; none: it is not wanted.
  /// \throws InputError, OutputError, VerificationFailed
  AlignedTrees(TreeFile& file, const NtuplesAsTrees& ntuples,
               const std::map<std::string, AlignedFields>& fields,
               const std::function<std::optional<std::string>(const std::string&)>& asked,
               const std::string& path, Compression compression, BasketCheck::Depth check);
  ~AlignedTrees();
  AlignedTrees(const AlignedTrees&) = delete;
  AlignedTrees& operator=(const AlignedTrees&) = delete;

  /// Path of the file; none: the input has no such trees.
  [[nodiscard]] const std::optional<std::string>& path() const { return path_; }

 private:
  std::optional<std::string> path_;
};

}  // namespace forkrun::root_io
