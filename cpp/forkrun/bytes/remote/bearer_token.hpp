#pragma once

#include <string>

namespace forkrun {

/// Current token, by the discovery of grid clients (WLCG): in BEARER_TOKEN, in the file
/// BEARER_TOKEN_FILE, in bt_u and the user's number below XDG_RUNTIME_DIR, or in /tmp; "" if there
/// is none. Of any form.
[[nodiscard]] std::string bearer_token();
/// Header with the token for requests to this URL; "": there is no token, or it must not be sent:
/// without TLS, or to a signed URL.
[[nodiscard]] std::string authorization_for(const std::string& url);

}  // namespace forkrun
