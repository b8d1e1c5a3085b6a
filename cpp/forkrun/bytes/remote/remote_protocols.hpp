#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <forkrun/bytes/remote/remote_connection.hpp>

namespace forkrun {

/// Opens a URL; empty if no library here knows its protocol.
[[nodiscard]] std::function<RemoteOpened()> connecting_to(const std::string& url);
/// Content of a folder on a server.
[[nodiscard]] RemoteListing list_remote(const std::string& url);
/// Size and date of each file, from its first place; all servers are asked at once.
[[nodiscard]] std::vector<RemoteEntry> stat_remote(std::span<const std::string> names);

}  // namespace forkrun
