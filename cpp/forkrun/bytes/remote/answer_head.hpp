#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <forkrun/bytes/byte_source.hpp>
#include <forkrun/bytes/remote/remote_version.hpp>

namespace forkrun {

/// Content-Range: bytes 0-99/12345
struct ContentRange {
  ByteRange range{};          ///< empty: it says none
  std::int64_t n_bytes = -1;  ///< of the file; -1: it does not say

  /// The value, in lower case.
  [[nodiscard]] static ContentRange of(std::string_view value);
};

/// What a web server says before the bytes of an answer. Lines come one after the other; those of
/// a redirection before are forgotten, but for where they lead.
struct AnswerHead {
  ContentRange content{};
  std::string tag{};
  std::vector<std::string> places{};  ///< to which the request was redirected, as they were told

  void take(std::string_view line);
  /// Where redirections led: "a → b → a", without queries, which may hold secrets.
  [[nodiscard]] std::string way_from(const std::string& url) const;
};

[[nodiscard]] char lower_case(char c);

}  // namespace forkrun
