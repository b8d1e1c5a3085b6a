#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <forkrun/formats/lcio/columns.hpp>

namespace forkrun::lcio {

/// Members needed for "LikelihoodPID.pdg" or "LikelihoodPID.parameters.muonLikelihood".
[[nodiscard]] std::vector<std::string> members_for_particle_id(std::string_view name);

/// Result of an algorithm for each object: its first id, 0 if there is none. Numbers of algorithms
/// and places of parameters come from the parameters of the collection, in each event. \throws
/// InputError
void fill_particle_ids(EventBlock& events, const ColumnKey& key, Column& into);

/// Column of empty lists.
void fill_empty(std::size_t n_events, Column& into);

}  // namespace forkrun::lcio
