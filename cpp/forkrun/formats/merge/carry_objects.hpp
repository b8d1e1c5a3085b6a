#pragma once

#include <set>
#include <string>
#include <vector>

#include <forkrun/formats/merge/if_they_differ.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>

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

/// Adds a text to a file that was just made: a TObjString with a key of this name.
/// \throws OutputError
void add_text(const std::string& output, const std::string& name, const std::string& text);

/// Checks that the objects of these files, except those of these names, can be joined, by joining
/// them in a file at `scratch`. \throws InputError as `carry_objects`, OutputError
void check_carried(const std::vector<std::string>& inputs, const std::string& scratch,
                   const std::set<std::string>& exclude, IfTheyDiffer if_they_differ,
                   BranchesThatDiffer branches);

}  // namespace forkrun::root_io
