#include <forkrun/bytes/remote/remote_protocols.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include <forkrun/bytes/remote/https_connection.hpp>

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

bool is_of_xrootd(const std::string& url) {
  return std::ranges::any_of(std::array{"root://", "roots://", "xroot://", "xroots://"},
                             [&url](const char* begin) { return url.starts_with(begin); });
}

/// Function of XRootD's library with this name; nullptr if it was not built, for lack of XrdCl.
template <class Function>
Function of_xrootd(const char* name) {
  constexpr int own_symbols = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
  static void* library = ::dlopen("libforkrun_xrootd.so", own_symbols);
  return library == nullptr ? nullptr : reinterpret_cast<Function>(::dlsym(library, name));
}

OpenRemote xrootd() {
  static const auto open = of_xrootd<OpenRemote>("forkrun_open_remote");
  return open;
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

std::function<RemoteOpened()> connecting_to(const std::string& url) {
  if (is_of_xrootd(url) && xrootd() != nullptr) {
    return [url] { return xrootd()(url); };
  }
  if (is_of_https(url)) {
    return [url] { return open_https(url); };
  }
  return {};
}

RemoteListing list_remote(const std::string& url) {
  const auto list = of_xrootd<ListRemote>("forkrun_list_remote");
  const auto places = places_of(url);
  if (!is_of_xrootd(url) || list == nullptr) {
    return {{}, {"files are listed on servers of XRootD alone", true}};
  }
  auto listing = list(places.front());
  listing.problem.text = without_secrets(listing.problem.text, places.front());
  return listing;
}

std::vector<RemoteEntry> stat_remote(std::span<const std::string> names) {
  const auto stat = of_xrootd<StatRemote>("forkrun_stat_remote");
  std::vector<RemoteEntry> entries(names.size());
  std::vector<std::string> urls;
  std::vector<std::size_t> numbers;
  for (std::size_t number = 0; number < names.size() && stat != nullptr; ++number) {
    if (const auto place = places_of(names[number]).front(); is_of_xrootd(place)) {
      urls.push_back(place);
      numbers.push_back(number);
    }
  }
  auto found = urls.empty() ? std::vector<RemoteEntry>{} : stat(urls);
  for (std::size_t i = 0; i < found.size(); ++i) {
    entries[numbers[i]] = std::move(found[i]);
  }
  return entries;
}

}  // namespace forkrun
