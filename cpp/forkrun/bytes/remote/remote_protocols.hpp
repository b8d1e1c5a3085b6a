#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <forkrun/bytes/remote/remote_connection.hpp>

namespace forkrun {

/// The URLs to open for a remote file, in order of preference: its name has them, separated by |,
/// without their secrets. Whole URLs are in the in-memory file named by the environment variable
/// FORKRUN_PLACES: on each line a public URL, a tab and the whole one.
[[nodiscard]] std::vector<std::string> places_of(const std::string& name);

/// A library's text, without the secrets of a URL.
[[nodiscard]] std::string without_secrets(std::string text, const std::string& url);

/// Opens a URL; empty if no library here knows its protocol.
[[nodiscard]] std::function<RemoteOpened()> connecting_to(const std::string& url);
/// Content of a folder on a server.
[[nodiscard]] RemoteListing list_remote(const std::string& url);
/// Size and date of each file, from its first place; all servers are asked at once.
[[nodiscard]] std::vector<RemoteEntry> stat_remote(std::span<const std::string> names);

}  // namespace forkrun
