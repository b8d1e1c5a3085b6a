#pragma once

#include <string>

namespace forkrun::root_io {

/// Loads ROOT's libraries, dictionaries and interpreter by writing and reading a small tree in
/// memory, so that children share them. Starts no thread and leaves no file open.
void warm_up();

[[nodiscard]] std::string root_version();

}  // namespace forkrun::root_io
