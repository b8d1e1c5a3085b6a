#include <forkrun/core/data/error_context.hpp>

#include <exception>
#include <utility>

#include <forkrun/core/data/errors.hpp>

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

}  // namespace

void rethrow_with_context(const std::string& where) { rethrow<Error>(where); }

void rethrow_of_module(const std::string& where) { rethrow<ModuleError>(where); }

}  // namespace forkrun
