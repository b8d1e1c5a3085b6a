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

/// What a file says of the classes whose objects it holds, for readers that do not know them: the
/// layout of each, by name and version, then the rules for reading older versions. `tagged`: of a
/// file, see TFile::GetClassIndex.
///
/// ROOT would give what it has in memory, in the order in which the process met the classes, with
/// notes of what was done with them. And what it has of a class comes from the dictionary or from
/// an input file, whichever was seen first, which need not name the types of members alike. Here
/// classes with a dictionary are described from it, the others by what was read.
[[nodiscard]] ClassDescriptions describe_classes(const TArrayC& tagged);

/// Has `to` describe the classes that `from` describes, in the versions that it has: their objects
/// are copied as bytes.
void take_descriptions(TFile& from, TFile& to);

/// Whether both name the same classes and rules, in the same order.
[[nodiscard]] bool same_classes(const TList& one, const TList& other);

}  // namespace forkrun::root_io
