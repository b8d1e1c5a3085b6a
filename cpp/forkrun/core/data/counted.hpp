#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace forkrun {

/// "1 entry" or "2 entries". `several`: `one` and an s, if it is not given.
[[nodiscard]] std::string counted(std::integral auto n, std::string_view one,
                                  std::string_view several = {}) {
  std::string text = std::to_string(n) + ' ';
  text += n == 1 || several.empty() ? one : several;
  return n != 1 && several.empty() ? text + 's' : text;
}

}  // namespace forkrun
