#include <forkrun/bytes/remote/curl.hpp>

#include <dlfcn.h>

#include <optional>

namespace forkrun {

namespace {

template <class Function>
void find(void* library, const char* name, Function& into, bool& is_there) {
  into = reinterpret_cast<Function>(::dlsym(library, name));
  is_there = is_there && into != nullptr;
}

std::optional<Curl> loaded() {
  void* library = nullptr;
  for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.so"}) {
    library = library == nullptr ? ::dlopen(name, RTLD_NOW | RTLD_LOCAL) : library;
  }
  if (library == nullptr) {
    return std::nullopt;
  }
  Curl curl{};
  bool is_there = true;
  find(library, "curl_easy_init", curl.easy_init, is_there);
  find(library, "curl_easy_cleanup", curl.easy_cleanup, is_there);
  find(library, "curl_easy_setopt", curl.set, is_there);
  find(library, "curl_easy_perform", curl.perform, is_there);
  find(library, "curl_easy_getinfo", curl.get, is_there);
  find(library, "curl_easy_strerror", curl.explain, is_there);
  find(library, "curl_slist_append", curl.append, is_there);
  find(library, "curl_slist_free_all", curl.free_list, is_there);
  return is_there ? std::optional{curl} : std::nullopt;
}

}  // namespace

const Curl* Curl::load() {
  static const auto curl = loaded();
  return curl ? &*curl : nullptr;
}

}  // namespace forkrun
