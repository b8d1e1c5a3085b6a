#pragma once

#include <cstdint>
#include <string>

#include <forkrun/bytes/content_digest.hpp>
#include <forkrun/formats/root_file/file_record.hpp>

namespace forkrun::root_io {

/// `create` replaces an existing file.
enum class OutputMode { create, update };

/// Opens a file to write and read it. A new one replaces an existing one: a process that still has
/// the old file open writes into that. \throws OutputError
[[nodiscard]] int open_output(const std::string& path, OutputMode mode);

/// Version 8 of RFC 9562: 122 bits of the writer's own choice.
[[nodiscard]] Uuid uuid_of(const ContentDigest& digest);

/// Reads a written file as its readers will, syncs it and closes it: `descriptor` is -1 then.
/// Returns its size. \throws OutputError
std::int64_t finish_output(int& descriptor, const std::string& path);

/// Closes it: `descriptor` is -1 then. \throws OutputError
void close_output(int& descriptor, const std::string& path);

/// Reports a failure with this errno, probably a full disk. \throws OutputError
[[noreturn]] void fail_to_write(const std::string& path, int error);
/// The same for other failures: "cannot be synced". \throws OutputError
[[noreturn]] void fail_output(const std::string& path, const std::string& what, int error);

}  // namespace forkrun::root_io
