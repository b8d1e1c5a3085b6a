#include <forkrun/formats/ttree/read/member_columns.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include <TBranch.h>
#include <TBranchElement.h>
#include <TBranchObject.h>
#include <TTree.h>

#include <forkrun/formats/ttree/layout/value_form.hpp>

namespace forkrun::root_io {

namespace {

constexpr const char* never_filled = "never filled";  ///< in place of a type

std::string name_of_object(const std::string& top) {
  return top.ends_with('.') ? top.substr(0, top.size() - 1) : top;
}

/// Without sizes, and without the objects that it is within.
std::string_view name_of_member(std::string_view branch) {
  branch = branch.substr(0, branch.find('['));
  branch = branch.ends_with('.') ? branch.substr(0, branch.size() - 1) : branch;
  return branch.substr(branch.rfind('.') + 1);
}

/// Whether a class writes as its description says, although it has a streamer of its own.
bool is_known_to_follow(std::string_view class_name) {
  constexpr std::array<std::string_view, 8> known{"TLorentzVector", "TVector2", "TVector3",
                                                  "TObject",        "TNamed",   "TDatime",
                                                  "TRef",           "TRefArray"};
  return std::ranges::count(known, class_name) > 0;
}

/// ROOT writes the members alone, unless the class writes itself, or the object is a collection.
ValueForm form_of_whole(const MemberForm& branch, const FileClasses& classes) {
  auto form = form_of_object(branch.class_name, classes, branch.has_name);
  const bool is_object = form.kind == ValueForm::Kind::object;
  const bool has_streamer = branch.has_name || branch.kind < 0;
  if (is_object && has_streamer && !is_known_to_follow(branch.class_name)) {
    return {.kind = ValueForm::Kind::none, .type = branch.class_name};  // no file tells its bytes
  }
  if (!is_object || has_streamer) {
    return form;
  }
  if (!form.type.empty() && form.version != branch.version && form.checksum != branch.checksum) {
    return {.kind = ValueForm::Kind::none, .type = branch.class_name};
  }
  form.has_header = false;
  return form;
}

ValueForm value_in(const MemberBranch& branch, const FileClasses& classes) {
  if (branch.form.member < 0) {
    return form_of_whole(branch.form, classes);
  }
  const auto* of_class = classes.find(branch.form.class_name);
  if (of_class != nullptr) {
    const auto member =
        std::ranges::find(of_class->members, name_of_member(branch.name),
                          [](const auto& each) { return std::string_view{each.name}; });
    if (member != of_class->members.end()) {
      return form_of_member(*member, classes);
    }
  }
  return {.kind = ValueForm::Kind::none, .type = branch.form.class_name};
}

EntryForm form_in(const MemberBranch& branch, const FileClasses& classes) {
  auto value = value_in(branch, classes);
  EntryForm form{nullptr, {}, branch.form.is_of_many(), false};
  if (form.is_of_many && value.has_header && value.kind != ValueForm::Kind::object) {
    form.shares_header = true;
    value.has_header = false;
  }
  form.value = std::make_shared<ValueForm>(std::move(value));
  return form;
}

MemberForm form_by_root(TBranchElement& branch) {
  return {branch.GetClassName(), branch.GetID(),   branch.GetClassVersion(),
          branch.GetCheckSum(),  branch.GetType(), branch.GetStreamerType()};
}

void add_members(TBranch& branch, const std::string& top, MembersOfRoot& members) {
  for (TObject* object : *branch.GetListOfBranches()) {
    auto& within = static_cast<TBranch&>(*object);
    if (within.GetListOfBranches()->GetEntriesFast() > 0) {
      add_members(within, top, members);
    } else if (auto* element = dynamic_cast<TBranchElement*>(&within)) {
      members.branches.push_back({top, within.GetName(), form_by_root(*element), nullptr,
                                  within.GetEntryOffsetLen() != 0,
                                  within.GetEntries() >= branch.GetTree()->GetEntries()});
      members.of_root.push_back(&within);
    }
  }
}

}  // namespace

MemberColumns::MemberColumns(const std::vector<MemberBranch>& branches, const IsTaken& is_taken,
                             const Classes& classes) {
  for (std::size_t number = 0; number < branches.size(); ++number) {
    const auto& branch = branches[number];
    const bool is_object = branch.form.member < 0 && branch.name == branch.top;
    BranchLayout layout;
    layout.name = is_object ? name_of_object(branch.top) : column_name(branch.top, branch.name);
    layout.has_offsets = branch.has_offsets;
    layout.type_name = never_filled;
    if (!is_object && is_taken(layout.name)) {
      continue;
    }
    if (branch.is_filled && !branch.of_leaves) {
      describe_member(branch.name, branch.form, layout);
    }
    if (layout.column || !branch.is_filled) {
      columns_.push_back({branch.top, number, std::move(layout)});
    } else {
      add(branch, layout, number,
          branch.of_leaves ? *branch.of_leaves : form_in(branch, classes()));
    }
  }
  for (std::size_t number = 0; number < columns_.size(); ++number) {
    by_name_.try_emplace(columns_[number].layout.name, number);
  }
}

/// Adds all columns of a branch of objects.
void MemberColumns::add(const MemberBranch& branch, const BranchLayout& begun, std::size_t number,
                        EntryForm form) {
  const auto found = columns_of(*form.value, form.is_of_many ? 1 : 0);
  const bool is_object = branch.form.member < 0;
  if (found.empty() && !is_object) {
    auto layout = begun;
    layout.type_name = form.value->type.empty() ? branch.form.class_name : form.value->type;
    columns_.push_back({branch.top, number, std::move(layout)});
  }
  for (const auto& column : found) {
    auto layout = begun;
    layout.name += (column.name.empty() ? "" : ".") + column.name;
    if (is_object && column.name.empty()) {
      layout.name = branch.top;
    }
    layout.column = column.type;
    form.path = column.path;
    layout.form = std::make_shared<EntryForm>(form);
    columns_.push_back({branch.top, number, std::move(layout)});
  }
}

const MemberColumn* MemberColumns::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &columns_[found->second];
}

MembersOfRoot members_of(TTree& tree) {
  MembersOfRoot members;
  for (TObject* object : *tree.GetListOfBranches()) {
    auto& top = static_cast<TBranch&>(*object);
    auto* element = dynamic_cast<TBranchElement*>(&top);
    const bool is_split = top.GetListOfBranches()->GetEntriesFast() > 0;
    if (element != nullptr && !is_split && element->GetID() < 0) {
      members.branches.push_back({top.GetName(), top.GetName(), form_by_root(*element), nullptr,
                                  top.GetEntryOffsetLen() != 0, true});
      members.of_root.push_back(&top);
    } else if (auto of_leaves = top.IsA() == TBranch::Class() ? layout_of(top).form : nullptr) {
      members.branches.push_back({top.GetName(),
                                  top.GetName(),
                                  {},
                                  std::move(of_leaves),
                                  top.GetEntryOffsetLen() != 0,
                                  true});
      members.of_root.push_back(&top);
    } else if (top.InheritsFrom(TBranchObject::Class()) && !is_split) {
      MemberForm form{top.GetClassName()};
      form.has_name = true;
      members.branches.push_back({top.GetName(), top.GetName(), std::move(form), nullptr,
                                  top.GetEntryOffsetLen() != 0, true});
      members.of_root.push_back(&top);
    }
    add_members(top, top.GetName(), members);
  }
  return members;
}

}  // namespace forkrun::root_io
