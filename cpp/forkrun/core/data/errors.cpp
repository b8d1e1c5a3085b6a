#include <forkrun/core/data/errors.hpp>

#include <utility>

namespace forkrun {

namespace {

std::string join_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines) {
    text += text.empty() ? line : "\n" + line;
  }
  return text;
}

}  // namespace

ScheduleError::ScheduleError(std::vector<std::string> problems)
    : Error{join_lines(problems)}, problems_{std::move(problems)} {}

}  // namespace forkrun
