#pragma once

#include <cstdint>
#include <string>

#include <forkrun/formats/root_file/file_outline.hpp>

namespace forkrun::root_io {

/// Whether to scan all records of a file, where a list of objects has room for more.
enum class Unlisted : bool { passed_over, looked_for };

/// Compares redundant information of a file on its folders and their objects: places, numbers and
/// lengths, names, titles, classes and cycles. Readers silently pass over damaged entries, and over
/// all after them. Information that readers ignore is not compared: dates, UUIDs, parents of
/// folders, free room. Returns a description of the difference; "" if there is none.
[[nodiscard]] std::string disagreeing_key(std::int64_t n_bytes, const FileOutline::Read& read,
                                          Unlisted unlisted);

}  // namespace forkrun::root_io
