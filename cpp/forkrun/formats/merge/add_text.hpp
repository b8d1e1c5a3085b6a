#pragma once

#include <string>

namespace forkrun::root_io {

/// Adds a text to a file that was just made: a TObjString with a key of this name.
/// \throws OutputError
void add_text(const std::string& output, const std::string& name, const std::string& text);

}  // namespace forkrun::root_io
