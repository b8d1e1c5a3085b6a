#pragma once

#include <string>
#include <vector>

namespace forkrun::root_io {

class TreeFile;

/// Objects of a file other than one of its trees, for a job that carries them to its outputs. Files
/// with two equal digests can be joined if one of them can be read.
struct OtherObjects {
  std::string forms;     ///< digest of names, classes, structures of trees and axes of histograms
  std::string contents;  ///< and of objects that cannot be merged
  std::vector<std::string> problems;  ///< lines on objects that cannot be carried
  /// Objects that may refer to others by numbers of the file: ROOT has to know their classes.
  bool may_refer{};
  std::vector<std::string> trees;  ///< paths of the other trees, in the order of the file's keys
  bool has_references{};           ///< objects in trees may refer to others, too
};

/// Without ROOT, where the file allows it; for remote files, from their directories. \throws
/// InputError
[[nodiscard]] OtherObjects other_objects(TreeFile& file, const std::string& tree);

}  // namespace forkrun::root_io
