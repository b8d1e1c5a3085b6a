#pragma once

#include <string>

namespace forkrun {

/// Name of the branch that counts the values of a jagged column: "nMuon" for "Muon_pt", "njets" for
/// "jets". A member of objects, "Jet.PT", has a counter of its own, as its name does not tell its
/// collection.
[[nodiscard]] std::string counter_name(const std::string& column);

}  // namespace forkrun
