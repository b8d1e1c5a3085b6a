#pragma once

#include <string>

namespace forkrun {

/// Name of the branch that counts the values of a jagged column: "nMuon" for "Muon_pt", "njets" for
/// "jets".
[[nodiscard]] std::string counter_name(const std::string& column);

}  // namespace forkrun
