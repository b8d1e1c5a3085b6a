#include <forkrun/formats/index/tree_index.hpp>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <span>
#include <utility>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/rntuple/ntuple_table.hpp>
#include <forkrun/formats/source/event_ids.hpp>
#include <forkrun/formats/source/event_table.hpp>
#include <forkrun/formats/ttree/read/form_values.hpp>
#include <forkrun/formats/ttree/read/input_tree.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>

namespace forkrun::root_io {

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

namespace {

constexpr std::int64_t n_entries_at_once = 1 << 16;
constexpr const char* not_as_described = "not as described";  ///< in place of a type

/// Ranges of a tree, from consecutive ranges of its entries.
class Ranges {
 public:
  void add(const EventIds& ids, std::int64_t first) {
    const auto events = ids.events();
    for (std::size_t begin = 0; begin < events.size();) {
      std::size_t end = begin + 1;
      while (end < events.size() && ids.lumi(end) == ids.lumi(begin)) {
        ++end;
      }
      add(ids.lumi(begin), events.subspan(begin, end - begin),
          first + static_cast<std::int64_t>(begin));
      begin = end;
    }
  }

  std::vector<LumiRange> ranges;
  EventOrder order;

 private:
  void add(LumiId lumi, std::span<const std::uint64_t> events, std::int64_t first) {
    if (ranges.empty() || ranges.back().lumi != lumi) {
      ranges.push_back({lumi, first, first, {}});
    }
    ranges.back().last = first + static_cast<std::int64_t>(events.size());
    ranges.back().digest.add(lumi, events);
    note_order(lumi, events);
  }

  void note_order(LumiId lumi, std::span<const std::uint64_t> events) {
    const auto [least, most] = std::ranges::minmax(events);
    order = {
        has_events_ ? std::min(order.least, least) : least, std::max(order.most, most),
        order.rises && std::ranges::adjacent_find(events, std::greater_equal{}) == events.end()};
    has_events_ = true;
    if (order.rises) {
      const auto [before, is_new] = last_event_.try_emplace(lumi, events.back());
      order.rises = is_new || before->second < events.front();
      before->second = events.back();
    }
  }

  bool has_events_ = false;
  std::map<LumiId, std::uint64_t> last_event_;
};

/// Trees without entries may lack the id branches as well.
Ranges ranges_of(const Table& table, const TreeFile& file, const IdBranches& names,
                 std::uint32_t file_number) {
  if (table.n_entries() == 0) {
    return {};
  }
  EventIds ids{table, file.path(), names, file_number};
  if (!file.is_local()) {
    std::vector<StoredPart> parts;
    ids.add_parts(0, table.n_entries(), parts);
    file.expect(in_order(std::move(parts)));
  }
  Ranges found;
  for (std::int64_t first = 0; first < table.n_entries(); first += n_entries_at_once) {
    ids.load(first, std::min<std::int64_t>(first + n_entries_at_once, table.n_entries()));
    found.add(ids, first);
  }
  return found;
}

std::string why_absent(const TreeFile& file, const std::string& tree) {
  try {
    static_cast<void>(file.tree(tree));
  } catch (const InputError& error) {
    return error.what();
  }
  throw InputError(file.path() + ": its keys do not name the tree \"" + tree + "\"");
}

/// Its columns as branches.
void describe(const rntuple::NtupleTable& ntuple, TreeIndex& index) {
  index.is_ntuple = true;
  index.n_entries = ntuple.n_entries();
  index.clusters = ntuple.borders();
  for (const auto& column : ntuple.columns()) {
    BranchLayout branch;
    branch.name = column.name;
    branch.column = column.type;
    branch.type_name = column.class_name;
    branch.counter = column.counter;
    index.branches.push_back(std::move(branch));
  }
}

bool holds_objects(const ValueForm& form) {
  return form.kind == ValueForm::Kind::object || std::ranges::any_of(form.within, holds_objects);
}

/// Whether the first entries can be read as the file describes the classes of their objects: these
/// may have their own streamers, which no file describes.
bool is_as_described(const Table& table, const MemberColumn& member) {
  constexpr std::int64_t n_tried = 16;
  try {
    Column values;
    table.reader(member.layout.name)->read(0, std::min(n_tried, table.n_entries()), values);
  } catch (const NotAsDescribed&) {
    return false;
  } catch (const InputError&) {
    return true;  // passed over: the reader finds a damaged basket
  }
  return true;
}

void describe_members(const Table& table, const InputTree& tree, TreeIndex& index) {
  for (const auto& member : tree.members().all()) {
    if (member.is_whole()) {
      continue;
    }
    auto& found = index.members.emplace_back(member);
    const auto& form = found.layout.form;
    if (form && holds_objects(*form->value) && !is_as_described(table, found)) {
      found.layout.column.reset();
      found.layout.type_name = not_as_described;
    }
  }
}

/// \throws InputError if the branches were filled one by one, and the tree was not.
void require_entries(const TreeFile& file, const InputTree& tree,
                     std::span<const StoredBranch> branches) {
  const auto filled = std::ranges::find_if(branches, [](const auto& b) { return b.n_entries > 0; });
  if (tree.n_entries() == 0 && filled != branches.end()) {
    throw InputError(file.path() + ": tree \"" + tree.name() +
                     "\" has no entries, but its branch \"" + filled->layout.name + "\" has " +
                     std::to_string(filled->n_entries) +
                     ": filled branch by branch, it holds no events; merges, and jobs over another "
                     "tree of the file, keep it whole");
  }
}

void describe(TreeFile& file, const Table& table, const InputTree& tree, TreeIndex& index) {
  const auto branches = tree.branches();
  require_entries(file, tree, branches);
  index.n_entries = tree.n_entries();
  std::ranges::transform(branches, std::back_inserter(index.branches), &StoredBranch::layout);
  describe_members(table, tree, index);
  for (auto& branch : index.branches) {
    if (const auto* whole = branch.column ? nullptr : tree.members().find(branch.name)) {
      branch.column = whole->layout.column;
    }
  }
  if (!branches.empty()) {
    index.clusters = clusters_of(branches, index.n_entries);
  }
  if (tree.has_friends()) {
    index.stored_friends = stored_friends(file.tree(tree.name()));
  }
  if (tree.has_user_objects()) {
    static_cast<void>(file.tree(tree.name()));  // outputs must have them
  }
  for (const auto& branch : branches) {
    if (branch.is_split && branch.form != 0 && index.n_entries > 0) {
      index.forms.emplace_back(branch.layout.name, branch.form);
    }
    if (branch.n_least_entries < index.n_entries) {
      index.short_branches.push_back(branch.layout.name);
    }
  }
}

TreeIndex index_of(TreeFile& file, const std::string& tree_name, const IdBranches& ids,
                   std::uint32_t file_number) {
  const CapturedMessages messages;
  file.check_keys();
  TreeIndex index;
  index.identity = file.identity();
  if (file.lacks(tree_name)) {
    index.absent = why_absent(file, tree_name);
    index.other = other_objects(file, tree_name);
    return index;
  }
  const auto table = event_table(file, tree_name);
  if (const auto* ntuple = dynamic_cast<const rntuple::NtupleTable*>(table.get())) {
    describe(*ntuple, index);
  } else {
    describe(file, *table, file.input_tree(tree_name), index);
  }
  index.other = other_objects(file, tree_name);
  auto found = ranges_of(*table, file, ids, file_number);
  index.ranges = std::move(found.ranges);
  index.events = found.order;
  return index;
}

}  // namespace

TreeIndex index_tree(const std::string& path, const std::string& tree_name, const IdBranches& ids,
                     std::uint32_t file_number) {
  return opening_again(path, [&] {
    TreeFile file{path};
    return naming_file(path, [&] { return index_of(file, tree_name, ids, file_number); });
  });
}

std::vector<BranchAccount> branch_accounts(const std::string& path, const std::string& tree) {
  TreeFile file{path};
  return naming_file(path, [&] {
    const CapturedMessages messages;
    std::vector<BranchAccount> accounts;
    if (const auto ntuple = rntuple::ntuple_in(file, tree)) {
      for (const auto& column : ntuple->columns()) {
        const auto [n_bytes, n_stored, compression] = ntuple->account(column);
        accounts.push_back({column.name, {n_bytes, n_stored}, static_cast<int>(compression)});
      }
      return accounts;
    }
    const auto& of_file = file.input_tree(tree);
    for (const auto& branch : of_file.branches()) {
      accounts.push_back({branch.layout.name, branch.sizes, branch.compression});
    }
    for (const auto& member : of_file.members().all()) {
      if (member.is_whole()) {
        continue;
      }
      const auto& name = member.layout.name;
      const auto branch = of_file.branch(name);
      accounts.push_back({name, branch.sizes, branch.compression});
    }
    return accounts;
  });
}

EventDigest tree_digest(const std::string& path, const std::string& tree_name,
                        const IdBranches& ids) {
  TreeFile file{path};
  return naming_file(path, [&] {
    EventDigest digest;
    for (const auto& range : ranges_of(*event_table(file, tree_name), file, ids, 0).ranges) {
      digest += range.digest;
    }
    return digest;
  });
}

}  // namespace forkrun::root_io
