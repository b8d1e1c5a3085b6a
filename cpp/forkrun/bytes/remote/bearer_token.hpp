#pragma once

#include <string>

namespace forkrun {

/// The token that clients of grids find, as it is now (WLCG's discovery): in BEARER_TOKEN, in the
/// file BEARER_TOKEN_FILE, in bt_u and the user's number below XDG_RUNTIME_DIR, or in /tmp; ""
/// if there is none. Of any form.
[[nodiscard]] std::string bearer_token();
/// The header of requests to this URL with it; "": there is no token, or one would be wrong:
/// without TLS, or where the URL is signed itself.
[[nodiscard]] std::string authorization_for(const std::string& url);

}  // namespace forkrun
