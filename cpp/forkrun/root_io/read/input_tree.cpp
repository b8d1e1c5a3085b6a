#include <forkrun/root_io/read/input_tree.hpp>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <TBranch.h>
#include <TTree.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/data/nearest_name.hpp>
#include <forkrun/root_io/format/tree_record.hpp>
#include <forkrun/root_io/read/input_file.hpp>

namespace forkrun::root_io {

namespace {

class TreeOfRoot final : public InputTree {
 public:
  TreeOfRoot(TTree& tree, std::string name, const InputFile& file)
      : InputTree{std::move(name), file}, tree_{tree} {}

  [[nodiscard]] std::int64_t n_entries() const override { return tree_.GetEntries(); }
  [[nodiscard]] bool has(const std::string& branch) const override {
    return branch_named(tree_, branch) != nullptr;
  }
  [[nodiscard]] bool is_plain(const std::string& /*branch*/) const override { return false; }
  [[nodiscard]] std::vector<std::string> branch_names() const override {
    std::vector<std::string> names;
    for (TObject* branch : *tree_.GetListOfBranches()) {
      names.emplace_back(branch->GetName());
    }
    return names;
  }
  [[nodiscard]] std::vector<StoredBranch> branches() const override {
    std::vector<StoredBranch> branches;
    for (TObject* branch : *tree_.GetListOfBranches()) {
      branches.push_back(stored_branch(static_cast<TBranch&>(*branch), *this, file()));
    }
    return branches;
  }

 protected:
  [[nodiscard]] StoredBranch found(const std::string& name) const override {
    return stored_branch(*branch_named(tree_, name), *this, file());
  }

 private:
  TTree& tree_;
};

class TreeOfRecord final : public InputTree {
 public:
  TreeOfRecord(TreeRecord record, std::string name, const InputFile& file)
      : InputTree{std::move(name), file}, record_{std::move(record)} {
    for (const auto& top : *record_.tops) {
      by_name_.try_emplace(top.layout.name, &top);
    }
  }

  [[nodiscard]] std::int64_t n_entries() const override { return record_.baskets.n_entries; }
  [[nodiscard]] bool has(const std::string& branch) const override {
    return by_name_.contains(branch);
  }
  [[nodiscard]] bool is_plain(const std::string& branch) const override {
    return by_name_.at(branch)->is_plain;
  }
  [[nodiscard]] std::vector<std::string> branch_names() const override {
    std::vector<std::string> names;
    for (const auto& top : *record_.tops) {
      names.push_back(top.layout.name);
    }
    return names;
  }
  [[nodiscard]] std::vector<StoredBranch> branches() const override {
    std::vector<StoredBranch> branches;
    for (const auto& top : *record_.tops) {
      branches.push_back(stored(top));
    }
    return branches;
  }

 protected:
  [[nodiscard]] StoredBranch found(const std::string& name) const override {
    return stored(*by_name_.at(name));
  }

 private:
  [[nodiscard]] StoredBranch stored(const TopBranch& top) const {
    StoredBranch branch{this,
                        top.layout,
                        top.is_split,
                        top.n_entries,
                        top.n_told_bytes,
                        top.compression,
                        top.largest_count};
    branch.of_tree = top.of_tree;
    if (!top.is_split) {
      branch.baskets =
          checked_baskets(record_.baskets.branches.at(top.place), top.layout.name, file());
    }
    return branch;
  }

  TreeRecord record_;
  std::unordered_map<std::string_view, const TopBranch*> by_name_;
};

}  // namespace

std::optional<StoredBranch> InputTree::leaf_of_list(const std::string& name) const {
  const auto dot = name.rfind('.');
  if (dot == std::string::npos || !has(name.substr(0, dot))) {
    return {};
  }
  auto branch = found(name.substr(0, dot));
  const auto& leaves = branch.layout.leaves;
  const auto leaf = std::ranges::find(leaves, name.substr(dot + 1), &LeafPlace::name);
  if (leaf == leaves.end()) {
    return {};
  }
  branch.layout.column = ColumnType{leaf->element};
  branch.layout.offset = leaf->offset;
  return branch;
}

StoredBranch InputTree::branch(const std::string& name) const {
  if (!has(name)) {
    if (auto leaf = leaf_of_list(name)) {
      return std::move(*leaf);
    }
  }
  require(name);
  return found(name);
}

void InputTree::require(const std::string& branch) const {
  if (!has(branch)) {
    throw InputError(file_.path() + ": tree \"" + name() + "\" has no branch \"" + branch + "\"" +
                     nearest_name_hint(branch, branch_names()));
  }
}

std::unique_ptr<InputTree> tree_of_root(TTree& tree, std::string name, const InputFile& file) {
  return std::make_unique<TreeOfRoot>(tree, std::move(name), file);
}

std::unique_ptr<InputTree> tree_of_record(TreeRecord record, std::string name,
                                          const InputFile& file) {
  const auto n_entries = record.baskets.n_entries;
  const bool is_possible =
      n_entries >= 0 && (n_entries <= record.most_entries || record.tops->empty());
  return is_possible ? std::make_unique<TreeOfRecord>(std::move(record), std::move(name), file)
                     : nullptr;
}

}  // namespace forkrun::root_io
