#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <forkrun/core/data/event_id.hpp>
#include <forkrun/formats/index/other_objects.hpp>
#include <forkrun/formats/source/event_ids.hpp>
#include <forkrun/formats/ttree/layout/branch_layout.hpp>
#include <forkrun/formats/ttree/read/member_columns.hpp>
#include <forkrun/formats/ttree/read/stored_branch.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>

namespace forkrun::root_io {

/// A maximal run of entries of one lumi.
struct LumiRange {
  LumiId lumi{};
  std::int64_t first{};
  std::int64_t last{};
  EventDigest digest;
};

/// Ranges of event numbers, for finding duplicates.
struct EventOrder {
  std::uint64_t least{};  ///< of all events; both 0 if there is none
  std::uint64_t most{};
  bool rises = true;  ///< within each lumi, also over its ranges: no event is there twice
};

/// `absent`: description of the file if it has no such tree, and so no entries; else "".
struct TreeIndex {
  FileIdentity identity;
  bool is_ntuple{};  ///< an RNTuple; else it is a tree
  std::int64_t n_entries{};
  std::vector<std::int64_t>
      clusters;  ///< first entry of each, then n_entries; none without branches
  std::vector<LumiRange> ranges;
  EventOrder events;
  std::string absent;
  std::vector<BranchLayout> branches;
  std::vector<MemberColumn>
      members;  ///< columns within split branches, and parts that are no columns
  std::vector<std::pair<std::string, std::uint32_t>> forms;  ///< of split branches by name
  std::vector<std::string> short_branches;                   ///< with fewer entries than the tree
  std::vector<std::string> stored_friends;                   ///< "tree (file)" of each
  OtherObjects other;
};

/// \throws InputError
[[nodiscard]] TreeIndex index_tree(const std::string& path, const std::string& tree,
                                   const IdBranches& ids, std::uint32_t file_number);

/// Entries at which a new basket begins in every branch, then their number: ROOT's clusters,
/// without relying on the writer's notes.
[[nodiscard]] std::vector<std::int64_t> clusters_of(const std::vector<StoredBranch>& branches,
                                                    std::int64_t n_entries);

/// Sizes of a branch, and its compression.
struct BranchAccount {
  std::string name;
  BranchSizes sizes;
  int compression{};  ///< ROOT's number
};
/// Branches in order, then columns within them. \throws InputError
[[nodiscard]] std::vector<BranchAccount> branch_accounts(const std::string& path,
                                                         const std::string& tree);

/// Digest of all events of a tree; reads only the id branches. \throws InputError
[[nodiscard]] EventDigest tree_digest(const std::string& path, const std::string& tree,
                                      const IdBranches& ids);

}  // namespace forkrun::root_io
