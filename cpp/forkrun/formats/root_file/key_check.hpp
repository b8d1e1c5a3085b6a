#pragma once

#include <cstdint>
#include <string>

#include <forkrun/formats/root_file/file_outline.hpp>

namespace forkrun::root_io {

/// Whether all records of a file are looked through, where a list of objects has room for more.
enum class Unlisted : bool { passed_over, looked_for };

/// Compares what a file tells twice of its folders and of the objects in them: where they lie, how
/// many and how long they are, their names, titles, classes and cycles. Readers pass over what is
/// damaged there, and over all behind it, without a word. Not compared is what no reader goes by:
/// dates, UUIDs, parents of folders, free room. Gives what disagrees; "" if nothing does.
[[nodiscard]] std::string disagreeing_key(std::int64_t n_bytes, const FileOutline::Read& read,
                                          Unlisted unlisted);

}  // namespace forkrun::root_io
