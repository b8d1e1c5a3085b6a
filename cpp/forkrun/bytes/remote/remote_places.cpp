#include <forkrun/bytes/remote/remote_places.hpp>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace forkrun {

namespace {

/// A shorter value, as in `?v=1`, is no secret, and occurs in many words.
constexpr std::size_t least_secret = 6;

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
}

/// The URL to open for a public one.
std::string whole_url(const std::string& name) {
  auto url = name;
  const char* path = std::getenv("FORKRUN_PLACES");
  std::ifstream file{path == nullptr ? "" : path};
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name + '\t')) {
      url = line.substr(name.size() + 1);  // the last line counts
    }
  }
  return url;
}

}  // namespace

std::vector<std::string> places_of(const std::string& name) {
  std::vector<std::string> places;
  std::istringstream names{name};
  for (std::string each; std::getline(names, each, '|');) {
    places.push_back(whole_url(each));
  }
  return places;
}

std::string without_secrets(std::string text, const std::string& url) {
  const auto begin = url.find("://");
  const auto user_end = url.find('@');
  if (begin != std::string::npos && user_end < url.find('/', begin + 3)) {
    replace_all(text, url.substr(begin + 3, user_end - begin - 3) + '@', "");
  }
  const auto query = url.find('?');
  std::istringstream parts{query == std::string::npos ? "" : url.substr(query + 1)};
  for (std::string part; std::getline(parts, part, '&');) {
    const auto value = part.substr(part.find('=') + 1);
    if (value.size() >= least_secret) {
      replace_all(text, value, "…");
    }
  }
  return text;
}

}  // namespace forkrun
