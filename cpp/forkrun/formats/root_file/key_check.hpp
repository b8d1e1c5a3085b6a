#pragma once

#include <cstdint>
#include <string>

#include <forkrun/formats/root_file/file_outline.hpp>

namespace forkrun::root_io {

/// Compares the lists of objects that a file and its folders have with the file: how many they are,
/// where they lie, their names, classes and lengths. Readers pass over what is damaged there, and
/// over all behind it, without a word. Gives what disagrees; "" if nothing does, or the file is of
/// an old form.
[[nodiscard]] std::string disagreeing_key(std::int64_t n_bytes, const FileOutline::Read& read);

}  // namespace forkrun::root_io
