#pragma once

#include <string_view>

namespace forkrun {

/// Whether a name is UTF-8 without control characters: names in damaged files may be anything.
[[nodiscard]] bool is_text(std::string_view name);

}  // namespace forkrun
