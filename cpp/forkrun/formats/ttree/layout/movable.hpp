#pragma once

class TBranchElement;
class TVirtualCollectionProxy;

namespace forkrun::root_io {

/// Whether a collection that has no class of its values is of numbers: ROOT takes a class that no
/// file has described, and pointers to one, for numbers, which depends on the files that were
/// opened before.
[[nodiscard]] bool holds_numbers(const TVirtualCollectionProxy& collection);

/// Whether entries of a branch of objects are ranges of bytes that mean the same in any basket.
/// Those that hold pointers to objects refer to places in their basket: the name of a class is
/// written where it is met first, and referred to from then on. Those of classes with streaming of
/// their own may do anything. For others the descriptions of the classes decide.
[[nodiscard]] bool has_movable_entries(TBranchElement& branch);

/// Whether ROOT would read a branch's entries otherwise in a file of today's than in one of
/// `version`: it wrote arrays of pointers to objects as the objects alone until 5.15/08, and arrays
/// of objects in another form until 3.02/07.
[[nodiscard]] bool depends_on_file_version(TBranchElement& branch, int version);

}  // namespace forkrun::root_io
