#include <forkrun/root_io/read/tree_index.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

#include <forkrun/root_io/read/event_ids.hpp>
#include <forkrun/root_io/read/input_file.hpp>
#include <forkrun/root_io/read/input_tree.hpp>
#include <forkrun/root_io/write/rebuilt_index.hpp>

namespace forkrun::root_io {

namespace {

constexpr std::int64_t n_entries_at_once = 1 << 16;

/// Entries at which a new basket begins in every branch: what ROOT calls clusters, without relying
/// on what the writer noted about them.
std::vector<std::int64_t> clusters_of(const std::vector<StoredBranch>& branches,
                                      std::int64_t n_entries) {
  std::vector<std::int64_t> common;
  bool is_first = true;
  for (const auto& branch : branches) {
    if (branch.is_split || branch.n_entries == 0) {
      continue;
    }
    std::vector<std::int64_t> starts;
    std::ranges::transform(branch.baskets, std::back_inserter(starts), &StoredBasket::first_entry);
    if (is_first) {
      common = std::move(starts);
    } else {
      std::erase_if(common,
                    [&](std::int64_t entry) { return !std::ranges::binary_search(starts, entry); });
    }
    is_first = false;
  }
  if (common.empty() || common.front() != 0) {
    common.insert(common.begin(), 0);
  }
  if (common.back() != n_entries) {
    common.push_back(n_entries);
  }
  return common;
}

void add_ranges(const EventIds& ids, std::int64_t first, std::vector<LumiRange>& ranges) {
  const auto events = ids.events();
  for (std::size_t begin = 0; begin < events.size();) {
    std::size_t end = begin + 1;
    while (end < events.size() && ids.lumi(end) == ids.lumi(begin)) {
      ++end;
    }
    const auto from = first + static_cast<std::int64_t>(begin);
    if (ranges.empty() || ranges.back().lumi != ids.lumi(begin)) {
      ranges.push_back({ids.lumi(begin), from, from, {}});
    }
    ranges.back().last = first + static_cast<std::int64_t>(end);
    ranges.back().digest.add(ids.lumi(begin), events.subspan(begin, end - begin));
    begin = end;
  }
}

std::vector<LumiRange> ranges_of(const InputTree& tree, InputFile& file, const IdBranches& names,
                                 std::uint32_t file_number) {
  EventIds ids{tree, file, names, file_number};
  std::vector<LumiRange> ranges;
  for (std::int64_t first = 0; first < tree.n_entries(); first += n_entries_at_once) {
    ids.load(first, std::min<std::int64_t>(first + n_entries_at_once, tree.n_entries()));
    add_ranges(ids, first, ranges);
  }
  return ranges;
}

}  // namespace

TreeIndex index_tree(const std::string& path, const std::string& tree_name, const IdBranches& ids,
                     std::uint32_t file_number) {
  InputFile file{path};
  return naming_file(path, [&] {
    const CapturedMessages messages;
    file.check_keys();
    const auto& tree = file.input_tree(tree_name);
    const auto branches = tree.branches();
    TreeIndex index;
    index.identity = file.identity();
    index.n_entries = tree.n_entries();
    std::ranges::transform(branches, std::back_inserter(index.branches), &StoredBranch::layout);
    index.clusters = clusters_of(branches, index.n_entries);
    if (tree.has_friends()) {
      index.stored_friends = stored_friends(file.tree(tree_name));
    }
    index.ranges = ranges_of(tree, file, ids, file_number);
    for (const auto& branch : branches) {
      if (!branch.is_split && branch.n_entries < index.n_entries) {
        index.short_branches.push_back(branch.layout.name);
      }
    }
    index.beside = beside_tree(file, tree_name);
    return index;
  });
}

EventDigest tree_digest(const std::string& path, const std::string& tree_name,
                        const IdBranches& ids) {
  InputFile file{path};
  return naming_file(path, [&] {
    EventDigest digest;
    for (const auto& range : ranges_of(file.input_tree(tree_name), file, ids, 0)) {
      digest += range.digest;
    }
    return digest;
  });
}

}  // namespace forkrun::root_io
