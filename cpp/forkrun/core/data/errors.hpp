#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace forkrun {

/// Root of every error thrown by forkrun's C++ libraries. The text names the problem, its place and
/// the remedy.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The job as described cannot run: unknown product, wrong type, cycle, bad parameter.
/// Carries every problem found, so that a user can fix them all at once.
class ScheduleError : public Error {
 public:
  explicit ScheduleError(std::vector<std::string> problems);
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

 private:
  std::vector<std::string> problems_;
};

/// An input file is missing, truncated, changed since it was indexed, or of a form we do not read.
class InputError : public Error {
 public:
  using Error::Error;
};

/// An output file cannot be written, closed or verified.
class OutputError : public Error {
 public:
  using Error::Error;
};

/// Reading a written file back gives other values than its input.
class VerificationFailed : public Error {
 public:
  using Error::Error;
};

/// A module raised an exception: the module is at fault, or an event that it cannot process.
class ModuleError : public Error {
 public:
  using Error::Error;
};

/// The parent asked the child to end in the middle of a unit: not a failure.
class Stopped : public Error {
 public:
  Stopped() : Error{"stopped between two blocks, at the parent's request"} {}
};

/// Inside a catch block: rethrows with `where: ` before the text. Errors keep their class,
/// everything else becomes an Error.
[[noreturn]] void rethrow_with_context(const std::string& where);

/// The same for a module's exception: everything else becomes a ModuleError.
[[noreturn]] void rethrow_of_module(const std::string& where);

}  // namespace forkrun
