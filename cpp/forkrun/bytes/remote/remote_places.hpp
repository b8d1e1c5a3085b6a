#pragma once

#include <string>
#include <vector>

namespace forkrun {

/// The URLs to open for a remote file, in order of preference: its name has them, with | between
/// them, without their secrets. Whole ones are in the file that the variable FORKRUN_PLACES of the
/// environment names, in memory alone: on each line a public URL, a tab and the whole one.
[[nodiscard]] std::vector<std::string> places_of(const std::string& name);

/// What a library says, without what it says of a URL's secrets.
[[nodiscard]] std::string without_secrets(std::string text, const std::string& url);

}  // namespace forkrun
