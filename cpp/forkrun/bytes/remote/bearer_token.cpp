#include <forkrun/bytes/remote/bearer_token.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>

namespace forkrun {

namespace {

/// Signatures of Amazon, Google and Azure, which refuse signed requests with a token.
constexpr std::array signatures{"X-Amz-Signature=", "X-Goog-Signature=", "Signature=", "sig="};

std::string first_word(std::istream&& text) {
  std::string word;
  text >> word;
  return word;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string bearer_token() {
  if (const auto token = first_word(std::istringstream{variable("BEARER_TOKEN")}); !token.empty()) {
    return token;
  }
  if (const auto file = variable("BEARER_TOKEN_FILE"); !file.empty()) {
    return first_word(std::ifstream{file});
  }
  const auto name = "/bt_u" + std::to_string(::geteuid());
  const auto folder = variable("XDG_RUNTIME_DIR");
  const auto token = folder.empty() ? "" : first_word(std::ifstream{folder + name});
  return token.empty() ? first_word(std::ifstream{"/tmp" + name}) : token;
}

std::string authorization_for(const std::string& url) {
  const auto begin = url.find('?');
  const std::string_view query =
      begin == std::string::npos ? "" : std::string_view{url}.substr(begin);
  const bool is_signed = std::ranges::any_of(
      signatures, [&](const char* each) { return query.find(each) != std::string_view::npos; });
  const auto token = is_signed || !url.starts_with("https") ? "" : bearer_token();
  return token.empty() ? "" : "Authorization: Bearer " + token;
}

}  // namespace forkrun
