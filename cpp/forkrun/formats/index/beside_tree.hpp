#pragma once

#include <string>
#include <vector>

namespace forkrun::root_io {

class TreeFile;

/// What a file holds beside one of its trees, for a job that carries it to its outputs. Files of
/// which both digests are equal can be joined if one of them can be read.
struct BesideTree {
  std::string forms;     ///< digest of names, classes, structures of trees and axes of histograms
  std::string contents;  ///< and of what objects hold that cannot be merged
  std::vector<std::string> problems;  ///< lines on what cannot be carried
  /// Objects that may refer to others by numbers of the file: ROOT has to know their classes.
  bool may_refer{};
  std::vector<std::string> trees;  ///< paths of the other trees, in the order of the file's keys
};

/// Without ROOT, where the file allows it; of remote files, what their directories say.
/// \throws InputError
[[nodiscard]] BesideTree beside_tree(TreeFile& file, const std::string& tree);

}  // namespace forkrun::root_io
