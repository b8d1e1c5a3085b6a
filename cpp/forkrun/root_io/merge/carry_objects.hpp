#pragma once

#include <set>
#include <string>
#include <vector>

#include <forkrun/root_io/merge/if_they_differ.hpp>
#include <forkrun/root_io/read/input_file.hpp>

namespace forkrun::root_io {

/// Adds to an existing file all that `inputs` hold but the objects of these names, joined as in
/// `merge_files`. Gives the names, sorted. `identities`: of the inputs as they were indexed; none:
/// they are not compared. \throws InputError, OutputError
std::vector<std::string> carry_objects(const std::vector<std::string>& inputs,
                                       const std::string& output,
                                       const std::set<std::string>& exclude,
                                       IfTheyDiffer if_they_differ = IfTheyDiffer::error,
                                       BranchesThatDiffer branches = BranchesThatDiffer::error,
                                       const std::vector<FileIdentity>& identities = {});

}  // namespace forkrun::root_io
