#include <forkrun/formats/ttree/layout/parsed_branches.hpp>

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

void TopBranches::add_leaves(TopBranch top, std::string_view title,
                             const std::vector<LeafForm>& leaves, std::size_t counter) {
  const bool is_known =
      !leaves.empty() &&
      (is_arithmetic(leaves[0].type) || is_packed(leaves[0].type) || leaves[0].type == "TLeafC");
  if (!is_known || top.is_split) {
    are_columns_known_ = false;
    return;
  }
  auto& layout = top.layout;
  layout.column = column_of(leaves);
  layout.entry_size = layout.has_offsets ? 0 : entry_size_of(leaves);
  layout.type_name = value_type_of(leaves[0]);
  if (!layout.column) {
    layout.form = entry_form_of(leaves);
    layout.type_name = std::string{title} + "/" + layout.type_name;
  }
  if (counter != 0) {
    counted_.emplace_back(tops_.size(), counter);
  }
  top.is_plain = true;
  tops_.push_back(std::move(top));
}

void TopBranches::add_object(TopBranch top) {
  top.layout.type_name = top.member.class_name;
  if (!top.is_split && top.member.member < 0) {
    const auto form = form_of_class(top.member.class_name);
    are_columns_known_ = are_columns_known_ && form.is_known;
    top.layout.column = form.column;
    top.layout.header_bytes = form.has_header ? vector_header_bytes : 0;
  }
  tops_.push_back(std::move(top));
}

std::optional<std::vector<TopBranch>> TopBranches::finished(
    const std::unordered_map<std::size_t, std::string_view>& branches) {
  for (const auto& [top, leaf] : counted_) {
    const auto branch = branches.find(leaf);
    if (!are_columns_known_ || branch == branches.end()) {
      return {};
    }
    tops_[top].layout.counter = branch->second;
  }
  return are_columns_known_ ? std::optional{std::move(tops_)} : std::nullopt;
}

}  // namespace forkrun::root_io
