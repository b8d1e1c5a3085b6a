#include <forkrun/formats/ttree/read/input_tree.hpp>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <TBranch.h>
#include <TFriendElement.h>
#include <TList.h>
#include <TTree.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/data/nearest_name.hpp>
#include <forkrun/formats/ttree/layout/tree_record.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>

namespace forkrun::root_io {

namespace {

class TreeOfRoot final : public InputTree {
 public:
  TreeOfRoot(TTree& tree, std::string name, const TreeFile& file)
      : InputTree{std::move(name), file}, tree_{tree}, members_{members_of(tree)} {}

  [[nodiscard]] std::int64_t n_entries() const override { return tree_.GetEntries(); }
  using InputTree::branch;
  using InputTree::has;
  [[nodiscard]] bool has(const BranchPlace& place) const override {
    return branch_at(tree_, place) != nullptr;
  }
  [[nodiscard]] bool is_plain(const BranchPlace& /*place*/) const override { return false; }
  [[nodiscard]] bool has_friends() const override { return tree_.GetListOfFriends() != nullptr; }
  [[nodiscard]] bool has_user_objects() const override { return false; }  // ROOT has read them
  [[nodiscard]] std::vector<std::string> branch_names() const override {
    std::vector<std::string> names;
    for (TObject* branch : *tree_.GetListOfBranches()) {
      names.emplace_back(branch->GetName());
    }
    return names;
  }
  [[nodiscard]] StoredBranch branch(std::size_t number) const override {
    auto* branch = tree_.GetListOfBranches()->At(static_cast<int>(number));
    return stored_branch(static_cast<TBranch&>(*branch), *this, file());
  }

 protected:
  [[nodiscard]] StoredBranch found(const BranchPlace& place) const override {
    return stored_branch(*branch_at(tree_, place), *this, file());
  }
  [[nodiscard]] std::vector<MemberBranch> member_branches() const override {
    return members_.branches;
  }
  [[nodiscard]] StoredBranch member_branch(std::size_t number) const override {
    return stored_branch(*members_.of_root.at(number), *this, file());
  }

 private:
  TTree& tree_;
  MembersOfRoot members_;
};

class TreeOfRecord final : public InputTree {
 public:
  TreeOfRecord(TreeRecord record, std::string name, const TreeFile& file)
      : InputTree{std::move(name), file}, record_{std::move(record)} {
    for (const auto& top : *record_.tops) {
      by_name_[top.layout.name].push_back(&top);
      const bool is_object = !top.is_split && !top.member.class_name.empty();
      if ((is_object && top.member.member < 0) || top.layout.form) {
        members_.emplace_back(&top, &top);
      }
      for (const auto& within : top.within) {
        members_.emplace_back(&top, &within);
      }
    }
  }

  [[nodiscard]] bool has_friends() const override { return record_.has_friends; }
  [[nodiscard]] bool has_user_objects() const override { return record_.has_user_objects; }
  [[nodiscard]] std::int64_t n_entries() const override { return record_.baskets.n_entries; }
  using InputTree::branch;
  using InputTree::has;
  [[nodiscard]] bool has(const BranchPlace& place) const override {
    const auto found = by_name_.find(place.name);
    return found != by_name_.end() && place.number < found->second.size();
  }
  [[nodiscard]] bool is_plain(const BranchPlace& place) const override {
    return top(place).is_plain;
  }
  [[nodiscard]] std::vector<std::string> branch_names() const override {
    std::vector<std::string> names;
    for (const auto& top : *record_.tops) {
      names.push_back(top.layout.name);
    }
    return names;
  }
  [[nodiscard]] StoredBranch branch(std::size_t number) const override {
    return stored(record_.tops->at(number));
  }

 protected:
  [[nodiscard]] StoredBranch found(const BranchPlace& place) const override {
    return stored(top(place));
  }
  [[nodiscard]] std::vector<MemberBranch> member_branches() const override {
    std::vector<MemberBranch> branches;
    for (const auto& [top, within] : members_) {
      const auto& layout = within->layout;
      branches.push_back({top->layout.name, layout.name, within->member, layout.form,
                          layout.has_offsets, within->n_entries >= n_entries()});
    }
    return branches;
  }
  [[nodiscard]] StoredBranch member_branch(std::size_t number) const override {
    return stored(*members_.at(number).second);
  }

 private:
  [[nodiscard]] const TopBranch& top(const BranchPlace& place) const {
    return *by_name_.at(place.name).at(place.number);
  }
  [[nodiscard]] StoredBranch stored(const TopBranch& top) const {
    StoredBranch branch{top, this};
    if (!top.is_split) {
      branch.baskets =
          checked_baskets(record_.baskets.branches.at(top.place), top.layout.name, file());
    }
    return branch;
  }

  TreeRecord record_;
  std::unordered_map<std::string_view, std::vector<const TopBranch*>> by_name_;
  std::vector<std::pair<const TopBranch*, const TopBranch*>> members_;  ///< with those they are in
};

}  // namespace

const MemberColumns& InputTree::members() const {
  std::call_once(members_once_, [this] {
    members_ = {member_branches(), [this](const std::string& name) { return has(name); },
                [this]() -> const FileClasses& { return file_.classes(); }};
  });
  return members_;
}

std::optional<StoredBranch> InputTree::member(const std::string& name) const {
  const auto* column = members().find(name);
  if (column == nullptr) {
    return {};
  }
  auto branch = member_branch(column->branch);
  branch.stored_name = branch.layout.name;
  const auto counter = branch.layout.counter;
  branch.layout = column->layout;
  branch.layout.counter = counter;
  return branch;
}

bool InputTree::has_column(const std::string& name) const {
  return has(name) || members().find(name) != nullptr;
}

StoredBranch InputTree::branch(const BranchPlace& place) const {
  if (!has(place) && place.number == 0) {
    if (auto found = member(place.name)) {
      return std::move(*found);
    }
  }
  require(place);
  return found(place);
}

StoredBranch InputTree::column(const std::string& name) const {
  auto found = branch(name);
  if (!found.layout.column) {
    if (auto whole = member(name)) {
      return std::move(*whole);
    }
  }
  return found;
}

std::vector<StoredBranch> InputTree::branches() const {
  std::vector<StoredBranch> branches;
  const auto n = branch_names().size();
  for (std::size_t i = 0; i < n; ++i) {
    branches.push_back(branch(i));
  }
  return branches;
}

void InputTree::require(const BranchPlace& place) const {
  if (!has(place)) {
    const auto& branch = place.name;
    throw InputError(file_.path() + ": tree \"" + name() + "\" has no " +
                     (place.number > 0 ? "further " : "") + "branch \"" + branch + "\"" +
                     (place.number > 0 ? ", which other files have"
                                       : nearest_name_hint(branch, branch_names())));
  }
}

std::unique_ptr<InputTree> tree_of_root(TTree& tree, std::string name, const TreeFile& file) {
  return std::make_unique<TreeOfRoot>(tree, std::move(name), file);
}

std::unique_ptr<InputTree> tree_of_record(TreeRecord record, std::string name,
                                          const TreeFile& file) {
  const auto n_entries = record.baskets.n_entries;
  const bool is_possible =
      n_entries >= 0 && (n_entries <= record.most_entries || record.tops->empty());
  return is_possible ? std::make_unique<TreeOfRecord>(std::move(record), std::move(name), file)
                     : nullptr;
}

std::vector<std::string> stored_friends(TTree& tree) {
  std::vector<std::string> names;
  if (const auto* friends = tree.GetListOfFriends()) {
    for (TObject* object : *friends) {
      const auto& element = static_cast<TFriendElement&>(*object);
      const std::string file = element.GetTitle();
      names.push_back(std::string{element.GetTreeName()} + " (" +
                      (file.empty() ? "in the same file" : file) + ")");
    }
  }
  return names;
}

}  // namespace forkrun::root_io
