#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <forkrun/root_io/basket.hpp>
#include <forkrun/root_io/input_file.hpp>

namespace forkrun::root_io {

struct MergeRequest {
  std::vector<std::string> inputs;
  std::string output;
  std::optional<std::vector<std::string>> trees;  ///< all when none
  std::optional<Compression> compression;         ///< none: baskets are copied as they are
  std::function<void(std::size_t)> progress;      ///< gets the number of inputs done; may be empty
  bool verify = false;  ///< baskets that are copied are uncompressed, to see that they can be read
};

/// Joins files, in the given order, into a new one: trees by copying baskets, histograms by adding;
/// other objects come from the first file that has them. With `trees`, these trees alone. Gives the
/// entries by tree. \throws InputError, OutputError; the output is then removed.
std::map<std::string, std::int64_t> merge_files(const MergeRequest& request);

/// Adds to an existing file all that `inputs` hold but the objects of these names, joined as in
/// `merge_files`. Gives the names, sorted. `identities`: of the inputs as they were indexed; none:
/// they are not compared. \throws InputError, OutputError
std::vector<std::string> carry_objects(const std::vector<std::string>& inputs,
                                       const std::string& output,
                                       const std::set<std::string>& exclude,
                                       const std::vector<FileIdentity>& identities = {});

}  // namespace forkrun::root_io
