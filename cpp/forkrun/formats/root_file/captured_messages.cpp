#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <TError.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/root_file/input_file.hpp>

namespace forkrun::root_io {

namespace {

thread_local int capture_depth = 0;
thread_local std::string first_message;
thread_local std::string first_error_message;
thread_local std::string first_damage_message;
ErrorHandlerFunc_t earlier_handler = nullptr;

/// About an object whose class is known from the file only: no damage.
bool is_of_unknown_class(std::string_view message) {
  return message.find("read an emulated class") != std::string_view::npos;
}

/// Whether ROOT says there that the data are invalid, and continues.
bool tells_damage(std::string_view location) {
  constexpr std::array methods{"ReadKeys",    "ReadKeyBuffer",  "ReadFile",
                               "ReadBuffer",  "ReadObj",        "ReadObject",
                               "CheckObject", "CheckByteCount", "ReadClass"};
  return std::ranges::any_of(
      methods, [&](const char* method) { return location.find(method) != std::string_view::npos; });
}

void capture(int level, Bool_t abort, const char* location, const char* message) {
  if (capture_depth == 0 || abort) {
    earlier_handler(level, abort, location, message);
  } else if (level >= kWarning && first_message.empty()) {
    first_message = message;
  }
  if (capture_depth > 0 && level >= kError && first_error_message.empty()) {
    first_error_message = message;
  }
  if (capture_depth > 0 && level >= kError && first_damage_message.empty() &&
      tells_damage(location) && !is_of_unknown_class(message)) {
    first_damage_message = message;
  }
}

/// Another library, such as PyROOT, may have put its own handler in place since.
void install_capture() {
  if (GetErrorHandler() != capture) {
    earlier_handler = SetErrorHandler(capture);
  }
}

}  // namespace

void fail_damaged(const std::string& path, const std::string& what) {
  throw InputError(path + ": is damaged: " + what + "; make it again, or copy it again");
}

CapturedMessages::CapturedMessages() {
  install_capture();
  if (capture_depth++ == 0) {
    first_message.clear();
    first_error_message.clear();
    first_damage_message.clear();
  }
}

CapturedMessages::~CapturedMessages() { --capture_depth; }

std::string CapturedMessages::first() const { return first_message; }

std::string CapturedMessages::first_error() const { return first_error_message; }

std::string CapturedMessages::unknown_class() const {
  const auto begin = first_error_message.find('(');
  const auto end = first_error_message.find(')');
  return is_of_unknown_class(first_error_message) && begin < end
             ? first_error_message.substr(begin + 1, end - begin - 1)
             : "";
}

void CapturedMessages::require_undamaged(const std::string& path) const {
  if (!first_damage_message.empty()) {
    fail_damaged(path, first_damage_message);
  }
}

}  // namespace forkrun::root_io
