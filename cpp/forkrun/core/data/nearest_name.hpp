#pragma once

#include <span>
#include <string>
#include <string_view>

namespace forkrun {

/// The candidate that needs the fewest edits (insert, delete, replace, swap of neighbours, each of
/// one letter; ignoring case) to become `name`; empty if none is near.
[[nodiscard]] std::string nearest_name(std::string_view name,
                                       std::span<const std::string> candidates);

/// `; did you mean "x"?`, or nothing.
[[nodiscard]] std::string nearest_name_hint(std::string_view name,
                                            std::span<const std::string> candidates);

}  // namespace forkrun
