#pragma once

#include <functional>
#include <string>
#include <vector>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>

namespace forkrun::root_io {

/// What the RNTuples of a file hold, as trees of the same names in a file of their own, which says
/// that their rows come from that one. It is removed in the end.
class NtuplesAsTrees {
 public:
  /// Of which rows that file says from where they come: of all, or of those of which the other one
  /// says it.
  enum class Says { of_all, of_carried };
  /// Writes nothing if none is wanted. `path`: of the file to make.
  /// \throws InputError naming the field that no branch can hold, OutputError
  NtuplesAsTrees(TreeFile& file, const std::function<bool(const std::string& ntuple)>& is_wanted,
                 const std::string& path, Says says);
  ~NtuplesAsTrees();
  NtuplesAsTrees(const NtuplesAsTrees&) = delete;
  NtuplesAsTrees& operator=(const NtuplesAsTrees&) = delete;

  /// Empty if there are none.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  /// Of the file of the trees.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Whether one of them has no entries: a merge may need its structure in the end.
  [[nodiscard]] bool has_empty() const { return has_empty_; }
  /// Calls `body`, which reads that file: errors name the one with the RNTuples.
  template <typename Body>
  void naming_input(Body body) const {
    try {
      body();
    } catch (const InputError& error) {
      std::string text = error.what();
      if (const auto at = text.find(path_); at != std::string::npos) {
        text.replace(at, path_.size(), input_);
      }
      throw InputError(text);
    }
  }

 private:
  std::string input_;
  std::string path_;
  std::vector<std::string> names_;
  bool has_empty_ = false;
};

}  // namespace forkrun::root_io
