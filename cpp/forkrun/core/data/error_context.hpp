#pragma once

#include <string>

namespace forkrun {

/// Inside a catch block: throws what was caught once more, with `where: ` before its text. An
/// InputError or OutputError stays one, everything else becomes an Error.
[[noreturn]] void rethrow_with_context(const std::string& where);

}  // namespace forkrun
