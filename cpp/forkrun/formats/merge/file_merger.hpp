#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <forkrun/formats/merge/aligned_fields.hpp>
#include <forkrun/formats/merge/if_they_differ.hpp>
#include <forkrun/formats/table/output_table.hpp>
#include <forkrun/formats/ttree/layout/basket.hpp>
#include <forkrun/formats/ttree/merge/basket_check.hpp>
#include <forkrun/formats/ttree/merge/reclustering.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>

namespace forkrun::root_io {

struct MergeRequest {
  std::vector<std::string> inputs;
  std::string output;
  std::optional<std::vector<std::string>> trees;  ///< all when none
  std::optional<Compression> compression;         ///< none: as the first file
  std::function<void(std::size_t)> progress;      ///< gets the number of inputs done; may be empty
  IfTheyDiffer if_they_differ = IfTheyDiffer::error;
  BasketCheck::Depth check = BasketCheck::Depth::headers;
  std::function<void(const std::string&)> note{};  ///< gets a line about each object that was not
                                                   ///< merged, and on baskets; may be empty
  Recluster recluster = Recluster::where_small;
  /// Called once the file is complete, before it is compared with the inputs; may be empty.
  std::function<void()> on_written{};
  /// Format of all tables; none: each keeps the format of the first file with it.
  std::optional<OutputFormat> format{};
  /// By path of a table, where not all of its files need have the same fields.
  std::map<std::string, AlignedFields> fields{};
  bool needs_checksums{true};       ///< pages of RNTuples without one are an error
  std::set<std::string> exclude{};  ///< paths of objects that are not merged
  /// The output exists: what is merged is added to it.
  bool adds{};
  bool records_origins{};  ///< the output will say where the rows of all trees come from
  std::vector<FileIdentity> identities{};  ///< of the inputs as they were indexed; none: any
};

/// Name of the wanted tree of a path: the newest, or that of a cycle; none: nothing is wanted.
[[nodiscard]] std::optional<std::string> asked_for(const MergeRequest& request,
                                                   const std::string& path);

/// Joins files, in the given order, into a new one: trees by copying or joining baskets, RNTuples
/// by copying or joining pages; objects as ObjectMerger does. With `trees`, these trees alone.
/// Gives the entries by tree. Samples of what is written are compared with the inputs.
/// \throws InputError, OutputError, VerificationFailed; a new output is then removed.
std::map<std::string, std::int64_t> merge_files(const MergeRequest& request);

}  // namespace forkrun::root_io
