#include <forkrun/core/data/errors.hpp>

#include <exception>
#include <utility>

namespace forkrun {

namespace {

/// `Otherwise`: class for exceptions that are not forkrun's.
template <typename Otherwise>
[[noreturn]] void rethrow(const std::string& where) {
  try {
    throw;
  } catch (const ScheduleError& error) {
    auto problems = error.problems();
    for (auto& problem : problems) {
      problem.insert(0, where + ": ");
    }
    throw ScheduleError{std::move(problems)};
  } catch (const InputError& error) {
    throw InputError{where + ": " + error.what()};
  } catch (const OutputError& error) {
    throw OutputError{where + ": " + error.what()};
  } catch (const ModuleError& error) {
    throw ModuleError{where + ": " + error.what()};
  } catch (const std::exception& error) {
    throw Otherwise{where + ": " + error.what()};
  } catch (...) {
    throw Otherwise{where + ": an exception that is not a std::exception"};
  }
}

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

void rethrow_with_context(const std::string& where) { rethrow<Error>(where); }

void rethrow_of_module(const std::string& where) { rethrow<ModuleError>(where); }

}  // namespace forkrun
