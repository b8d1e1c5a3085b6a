#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>

namespace forkrun::root_io {

/// Path of the file with trees made of an input's RNTuples, next to the output.
[[nodiscard]] std::string path_of_trees(const std::string& output, std::size_t input);

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

}  // namespace forkrun::root_io
