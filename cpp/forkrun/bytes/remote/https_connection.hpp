#pragma once

#include <string>

#include <forkrun/bytes/remote/remote_connection.hpp>

namespace forkrun {

/// Opens a file of a web server that delivers ranges (http, https; davs is https), with libcurl.
[[nodiscard]] RemoteOpened open_https(const std::string& url);

[[nodiscard]] bool is_of_https(const std::string& url);

}  // namespace forkrun
