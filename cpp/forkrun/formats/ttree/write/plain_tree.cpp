#include <forkrun/formats/ttree/write/plain_tree.hpp>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/root_file/file_outline.hpp>
#include <forkrun/formats/ttree/layout/leaf_form.hpp>
#include <forkrun/formats/ttree/layout/tree_record.hpp>

namespace forkrun::root_io {

namespace {

LeafMembers leaf_of(const NewBranch& column) {
  constexpr std::string_view with_range = "BSILO";
  const char letter = leaf_letter(column.type.element);
  const char kind = static_cast<char>(std::toupper(letter));
  const auto size = size_of(column.type.element);
  LeafMembers leaf{std::string{"TLeaf"} + kind, leaf_name(column.name), leaf_title(column)};
  leaf.n_values = static_cast<std::int32_t>(column.type.n_in_item());
  leaf.value_size = static_cast<std::int32_t>(size);
  leaf.is_unsigned = letter != kind;
  if (with_range.find(kind) != std::string_view::npos) {
    leaf.range.emplace();
  } else {
    leaf.limits.resize(2 * size);
  }
  return leaf;
}

LeafInEntry in_entry(const LeafMembers& leaf) {
  return {static_cast<std::size_t>(leaf.value_size),
          static_cast<std::size_t>(std::max(leaf.n_values, 0)),
          is_arithmetic(leaf.type) && !leaf.counter,
          leaf.counts_others,
          leaf.is_unsigned,
          leaf.type == text_leaf};
}

/// The branch of each leaf, in the order of their numbers.
std::vector<std::size_t> branches_of_leaves(const TreeMembers& tree) {
  std::vector<std::size_t> branches;
  for (std::size_t i = 0; i < tree.branches.size(); ++i) {
    branches.insert(branches.end(), tree.branches[i].leaves.size(), i);
  }
  return branches;
}

}  // namespace

class PlainTree::Branch final : public WrittenBranch {
 public:
  Branch(PlainTree& tree, std::size_t number) : tree_{tree}, number_{number} {}

  [[nodiscard]] std::string name() const override { return members().name; }
  [[nodiscard]] std::string tree_name() const override { return tree_.members_.name; }
  [[nodiscard]] bool has_offsets() const override { return members().offsets_length != 0; }
  [[nodiscard]] std::vector<LeafInEntry> leaves() const override {
    std::vector<LeafInEntry> leaves;
    std::ranges::transform(members().leaves, std::back_inserter(leaves), in_entry);
    return leaves;
  }

  void enter(const BasketHeader& header, std::int64_t place, std::int64_t first_entry) override {
    auto& content = tree_.contents_[number_];
    content.n_bytes += header.object_length + header.key_length;
    content.n_stored_bytes += header.n_bytes;
    content.list.baskets.push_back({first_entry, place, header.n_bytes});
  }

  void include(const BranchRecord& other) override {
    for (std::size_t i = 0; i < other.leaves.size(); ++i) {
      if (other.leaves[i]) {
        tree_.include_range(number_, i, *other.leaves[i]);
      }
    }
  }

  void finish(std::int64_t n_entries, std::span<const std::int64_t> largest_counts) override {
    tree_.contents_[number_].list.n_entries = n_entries;
    const auto& leaves = members().leaves;
    for (std::size_t i = 0; i < std::min(leaves.size(), largest_counts.size()); ++i) {
      if (leaves[i].counts_others || leaves[i].type == text_leaf) {
        tree_.include_range(number_, i, {0, largest_counts[i]});
      }
    }
  }

 private:
  [[nodiscard]] const BranchMembers& members() const { return tree_.members_.branches[number_]; }

  PlainTree& tree_;
  std::size_t number_;
};

PlainTree::PlainTree(PlainFile& file, std::string path, TreeMembers members,
                     Compression compression)
    : file_{file},
      path_{std::move(path)},
      members_{std::move(members)},
      compression_{compression},
      contents_(members_.branches.size()) {
  members_.features = 0;  // new baskets have offsets; a basket without them says so itself
  for (auto& branch : members_.branches) {
    branch.features = 0;
  }
}

PlainTree::~PlainTree() = default;

bool PlainTree::has(const std::string& branch) const {
  return std::ranges::count(members_.branches, branch, &BranchMembers::name) > 0;
}

std::unique_ptr<WrittenBranch> PlainTree::branch(std::size_t number) {
  return std::make_unique<Branch>(*this, number);
}

void PlainTree::include_range(std::size_t branch, std::size_t leaf, const LeafRange& range) {
  auto& members = members_.branches[branch].leaves[leaf];
  if (members.type == text_leaf) {
    members.n_values = std::max(members.n_values, static_cast<std::int32_t>(range.largest));
  } else if (auto& known = members.range) {
    const auto most = largest_number(static_cast<std::size_t>(members.value_size));
    known->least = std::min(known->least, range.least);
    known->largest = std::max(known->largest, std::min(range.largest, most));
  }
}

std::unique_ptr<WrittenBranch> PlainTree::add(BranchMembers branch) {
  members_.branches.push_back(std::move(branch));
  contents_.emplace_back();
  return this->branch(contents_.size() - 1);
}

std::unique_ptr<WrittenBranch> PlainTree::add(const NewBranch& column) {
  const auto title = leaf_title(column);
  BranchMembers branch{column.name, title + "/" + leaf_letter(column.type.element)};
  branch.compression = compression_.settings();
  branch.leaves.push_back(leaf_of(column));
  if (column.type.is_counted()) {
    branch.offsets_length = members_.offsets_length;
    branch.leaves.front().counter = count_with(counter_of(column));
  }
  return add(std::move(branch));
}

/// Number of the leaf that counts, which is marked so. \throws OutputError if there is none.
std::size_t PlainTree::count_with(const std::string& counter) {
  std::size_t number = 0;
  for (auto& branch : members_.branches) {
    for (auto& leaf : branch.leaves) {
      if (leaf.name == leaf_name(counter)) {
        leaf.counts_others = true;
        return number;
      }
      ++number;
    }
  }
  throw OutputError("tree \"" + members_.name + "\" has no branch \"" + counter +
                    "\" with the numbers of values");
}

std::unique_ptr<WrittenBranch> PlainTree::add_counter(const std::string& name) {
  return add(NewBranch{name, ColumnType{ElementType::uint32}});
}

void PlainTree::write(std::int64_t n_entries) {
  file_.add(path_, "TTree", members_.title,
            [&](ObjectWriter& to) { write_tree(to, members_, n_entries, contents_); });
}

TreeMembers with_branches(TreeMembers tree, const std::vector<std::string>& names) {
  const auto branches = branches_of_leaves(tree);
  std::vector<bool> are_kept(tree.branches.size());
  for (const auto& name : names) {
    bool is_there = false;
    for (std::size_t i = 0; i < tree.branches.size(); ++i) {
      if (tree.branches[i].name == name) {
        is_there = are_kept[i] = true;
        for (const auto& leaf : tree.branches[i].leaves) {
          if (leaf.counter) {
            are_kept[branches[*leaf.counter]] = true;
          }
        }
      }
    }
    if (!is_there) {
      throw OutputError("tree \"" + tree.name + "\" has no branch \"" + name + "\" to keep");
    }
  }
  std::vector<std::size_t> numbers(branches.size());  // of the leaves that are kept
  std::size_t n_kept = 0;
  for (std::size_t i = 0; i < branches.size(); ++i) {
    numbers[i] = n_kept;
    n_kept += are_kept[branches[i]] ? 1 : 0;
  }
  std::vector<BranchMembers> kept;
  for (std::size_t i = 0; i < tree.branches.size(); ++i) {
    if (are_kept[i]) {
      kept.push_back(std::move(tree.branches[i]));
      for (auto& leaf : kept.back().leaves) {
        leaf.counter = leaf.counter ? std::optional{numbers[*leaf.counter]} : std::nullopt;
      }
    }
  }
  tree.branches = std::move(kept);
  return tree;
}

TreeMembers with_compression(TreeMembers tree, Compression compression) {
  for (auto& branch : tree.branches) {
    branch.compression = compression.settings();
  }
  return tree;
}

std::unique_ptr<PlainFile> reopen_with_trees(const std::string& path) {
  return PlainFile::reopen(path, [](const auto& file, const auto& key, auto& writer) {
    if (key.type == "ROOT::RNTuple") {
      return true;  // it has no pointers, whose classes would have to be described
    }
    const auto object = key.type == "TTree" ? file.object(key) : std::nullopt;
    const auto tree =
        object ? parse_tree_record(*object, key.key_length, {.members = true}) : std::nullopt;
    if (!tree || !tree->members) {
      return false;
    }
    write_tree(writer, *tree->members, 0,
               std::vector<BranchContent>(tree->members->branches.size()));
    return true;
  });
}

}  // namespace forkrun::root_io
