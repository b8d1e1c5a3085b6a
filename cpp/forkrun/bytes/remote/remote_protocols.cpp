#include <forkrun/bytes/remote/remote_protocols.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <utility>

#include <forkrun/bytes/remote/https_connection.hpp>
#include <forkrun/bytes/remote/remote_places.hpp>

namespace forkrun {

namespace {

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
