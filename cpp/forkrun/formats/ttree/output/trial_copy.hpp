#pragma once

#include <string>
#include <vector>

namespace forkrun::root_io {

/// Copies the first entries of top-level branches as outputs do where ROOT has to write them anew,
/// to see whether it can: without the dictionary of a class it may die of it. `scratch`: path of a
/// file that is written, and removed. \throws InputError, OutputError
void try_copy(const std::string& path, const std::string& tree,
              const std::vector<std::string>& branches, const std::string& scratch);

}  // namespace forkrun::root_io
