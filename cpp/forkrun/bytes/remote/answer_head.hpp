#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <forkrun/bytes/byte_source.hpp>
#include <forkrun/bytes/remote/remote_connection.hpp>

namespace forkrun {

/// Content-Range: bytes 0-99/12345
struct ContentRange {
  ByteRange range{};          ///< empty: not given
  std::int64_t n_bytes = -1;  ///< of the file; -1: not given

  /// The value, in lower case.
  [[nodiscard]] static ContentRange of(std::string_view value);
};

/// Head of a web server's answer. Lines are added one after the other; lines of an earlier
/// redirection are dropped, except its destination.
struct AnswerHead {
  ContentRange content{};
  std::string tag{};
  std::vector<std::string> places{};  ///< destinations of redirections, as given

  void take(std::string_view line);
  /// Path of redirections: "a → b → a", without queries, which may hold secrets.
  [[nodiscard]] std::string way_from(const std::string& url) const;
};

[[nodiscard]] char lower_case(char c);

}  // namespace forkrun
