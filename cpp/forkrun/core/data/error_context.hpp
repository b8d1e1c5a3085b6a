#pragma once

#include <string>

namespace forkrun {

/// Inside a catch block: throws what was caught once more, with `where: ` before its text. Errors
/// with a class of their own keep it, everything else becomes an Error.
[[noreturn]] void rethrow_with_context(const std::string& where);

/// The same of what a module threw: everything else becomes a ModuleError.
[[noreturn]] void rethrow_of_module(const std::string& where);

}  // namespace forkrun
