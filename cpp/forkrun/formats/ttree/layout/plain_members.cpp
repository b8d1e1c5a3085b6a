#include <forkrun/formats/ttree/layout/plain_members.hpp>

#include <algorithm>
#include <string>
#include <utility>

#include <forkrun/formats/root_file/class_layouts.hpp>

namespace forkrun::root_io {

namespace {

LeafMembers members_of(const LeafRecord& leaf) {
  LeafMembers members{
      std::string{leaf.form.type}, std::string{leaf.name}, std::string{leaf.form.title},
      leaf.form.n_values,          leaf.value_size,        leaf.offset,
      leaf.counts_others,          leaf.form.is_unsigned};
  members.range = leaf.range;
  members.limits.assign(leaf.limits.begin(), leaf.limits.end());
  if (leaf.counter != 0) {
    members.counter = leaf.counter;
  }
  return members;
}

}  // namespace

void PlainMembers::add(BranchMembers branch, std::string_view name, std::string_view title,
                       const std::vector<Leaf>& leaves) {
  const auto is_plain = [](const Leaf& leaf) {
    const auto* described = class_layout(leaf.record->form.type);
    return described != nullptr && described->version == leaf.record->version;
  };
  if (leaves.empty() || branch.compression < 0 || !std::ranges::all_of(leaves, is_plain)) {
    return give_up();
  }
  branch.name = name;
  branch.title = title;
  for (const auto& [number, record] : leaves) {
    numbers_.try_emplace(number, numbers_.size());
    branch.leaves.push_back(members_of(*record));
  }
  tree_.branches.push_back(std::move(branch));
}

std::optional<TreeMembers> PlainMembers::finished() {
  for (auto& branch : tree_.branches) {
    for (auto& leaf : branch.leaves) {
      if (leaf.counter) {
        const auto known = numbers_.find(*leaf.counter);
        ObjectStream::require(known != numbers_.end());
        leaf.counter = known->second;
      }
    }
  }
  return are_all_ ? std::optional{std::move(tree_)} : std::nullopt;
}

}  // namespace forkrun::root_io
