#pragma once

#include <string>
#include <vector>

namespace forkrun {

/// The URLs to open for a remote file, in order of preference: its name has them, separated by |,
/// without their secrets. Whole URLs are in the in-memory file named by the environment variable
/// FORKRUN_PLACES: on each line a public URL, a tab and the whole one.
[[nodiscard]] std::vector<std::string> places_of(const std::string& name);

/// A library's text, without the secrets of a URL.
[[nodiscard]] std::string without_secrets(std::string text, const std::string& url);

}  // namespace forkrun
