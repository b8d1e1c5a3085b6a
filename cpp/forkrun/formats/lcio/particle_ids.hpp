#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <forkrun/formats/lcio/columns.hpp>

namespace forkrun::lcio {

/// The members that "LikelihoodPID.pdg" or "LikelihoodPID.parameters.muonLikelihood" needs.
[[nodiscard]] std::vector<std::string> members_for_particle_id(std::string_view name);

/// What an algorithm says of each object: the first id that is of it, 0 where none is. Numbers of
/// algorithms and places of parameters are those that the parameters of the collection tell, in
/// each event. \throws InputError
void fill_particle_ids(EventBlock& events, const ColumnKey& key, Column& into);

/// A column of lists that are all empty.
void fill_empty(std::size_t n_events, Column& into);

}  // namespace forkrun::lcio
