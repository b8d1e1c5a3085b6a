#pragma once

#include <string>

namespace forkrun {

/// Inside a catch block: rethrows with `where: ` before the text. Errors keep their class,
/// everything else becomes an Error.
[[noreturn]] void rethrow_with_context(const std::string& where);

/// The same for a module's exception: everything else becomes a ModuleError.
[[noreturn]] void rethrow_of_module(const std::string& where);

}  // namespace forkrun
