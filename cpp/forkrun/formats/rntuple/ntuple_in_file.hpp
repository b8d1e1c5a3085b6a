#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <forkrun/formats/rntuple/ntuple_table.hpp>

namespace forkrun::root_io {
class InputFile;
}

namespace forkrun::rntuple {

/// The RNTuple at a path of a ROOT file; null if something else has the name, or nothing. The file
/// has to outlive it. \throws InputError if it is damaged, or of a form that is not known.
[[nodiscard]] std::unique_ptr<NtupleTable> ntuple_in(root_io::InputFile& file,
                                                     const std::string& path);

/// Whether objects of this class are RNTuples, of the format's version 1 or before it.
[[nodiscard]] bool is_class_name(std::string_view name);

}  // namespace forkrun::rntuple
