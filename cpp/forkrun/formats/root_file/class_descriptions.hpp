#pragma once

#include <memory>

#include <TList.h>

class TArrayC;
class TFile;

namespace forkrun::root_io {

struct ClassDescriptions {
  std::unique_ptr<TList> rules;  ///< the last of `all`, unless it is empty
  std::unique_ptr<TList> all;    ///< layouts, which live as long as the process, and rules
};

/// A file's description of the classes of its objects, for readers that do not know them: the
/// layout of each, by name and version, then the rules for reading older versions. `tagged`: see
/// TFile::GetClassIndex.
///
/// ROOT would take the descriptions in memory, in the order in which the process met the classes,
/// with notes of their use. And ROOT's description of a class comes from the dictionary or from an
/// input file, whichever was seen first, with different names for the types of members. Here
/// classes with a dictionary are described from it, the others from input files.
[[nodiscard]] ClassDescriptions describe_classes(const TArrayC& tagged);

/// Has `to` describe the classes that `from` describes, in the same versions: their objects are
/// copied as bytes.
void take_descriptions(TFile& from, TFile& to);

/// Whether both name the same classes and rules, in the same order.
[[nodiscard]] bool same_classes(const TList& one, const TList& other);

}  // namespace forkrun::root_io
