#include <forkrun/formats/ttree/layout/branch_layout.hpp>

#include <algorithm>
#include <iterator>
#include <string_view>

#include <TBranch.h>
#include <TBranchElement.h>
#include <TBranchRef.h>
#include <TClass.h>
#include <TLeaf.h>
#include <TLeafObject.h>
#include <TObjArray.h>
#include <TTree.h>
#include <TVirtualCollectionProxy.h>
#include <TVirtualStreamerInfo.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/ttree/layout/leaf_form.hpp>

namespace forkrun::root_io {

std::vector<TLeaf*> leaves_of(TBranch& branch) {
  std::vector<TLeaf*> leaves;
  for (TObject* leaf : *branch.GetListOfLeaves()) {
    leaves.push_back(static_cast<TLeaf*>(leaf));
  }
  return leaves;
}

bool counts_objects(const TBranch& branch) {
  constexpr int clones = 3, collection = 4;
  const auto* element = dynamic_cast<const TBranchElement*>(&branch);
  return element != nullptr && (element->GetType() == clones || element->GetType() == collection ||
                                element->GetStreamerType() == TVirtualStreamerInfo::kCounter);
}

std::vector<std::int64_t> largest_told_counts(TBranch& branch) {
  if (counts_objects(branch)) {
    return {largest_count(branch)};
  }
  std::vector<std::int64_t> largest;
  std::ranges::transform(leaves_of(branch), std::back_inserter(largest), [](const TLeaf* leaf) {
    return leaf->IsRange() || leaf->ClassName() == text_leaf ? told_range(*leaf).largest : 0;
  });
  return largest;
}

LeafRange told_range(const TLeaf& leaf) {
  const bool is_text = leaf.ClassName() == text_leaf;
  return {leaf.GetMinimum(), is_text ? leaf.GetLenStatic() : leaf.GetMaximum()};
}

namespace {

std::optional<ElementType> element_of(EDataType type) {
  switch (type) {
    case kBool_t: return ElementType::boolean;
    case kChar_t: return ElementType::int8;
    case kUChar_t: return ElementType::uint8;
    case kShort_t: return ElementType::int16;
    case kUShort_t: return ElementType::uint16;
    case kInt_t: return ElementType::int32;
    case kUInt_t: return ElementType::uint32;
    case kLong_t:
    case kLong64_t: return ElementType::int64;
    case kULong_t:
    case kULong64_t: return ElementType::uint64;
    case kFloat_t: return ElementType::float32;
    case kDouble_t: return ElementType::float64;
    default: return std::nullopt;
  }
}

/// ROOT keeps the largest count of a branch for itself.
struct CountAccess : TBranchElement {
  static int& of(TBranchElement& branch) { return branch.*(&CountAccess::fMaximum); }
};

/// An object as a `T`: in a damaged file any object may stand where a leaf or branch belongs.
template <typename T>
T& as(TObject* object, const char* what, const std::string& where) {
  auto* found = dynamic_cast<T*>(object);
  if (found == nullptr) {
    throw InputError(where + " is damaged: it has no " + what + " where one belongs");
  }
  return *found;
}

LeafForm form_of(const TLeaf& leaf) {
  return {leaf.IsA()->GetName(), leaf.GetTitle(), leaf.GetLenStatic(), leaf.IsUnsigned(),
          leaf.GetLeafCount() != nullptr};
}

void describe_leaves(TBranch& branch, BranchLayout& layout) {
  const auto& leaves = *branch.GetListOfLeaves();
  const auto& leaf = as<TLeaf>(leaves.At(0), "leaf", "branch " + layout.name);
  if (auto* count = static_cast<TObject*>(leaf.GetLeafCount())) {
    const auto& counter = as<TLeaf>(count, "leaf that counts", "branch " + layout.name);
    layout.counter = as<TBranch>(counter.GetBranch(), "branch that counts", layout.name).GetName();
  }
  std::vector<LeafForm> forms;
  for (TObject* object : leaves) {
    forms.push_back(form_of(as<TLeaf>(object, "leaf", "branch " + layout.name)));
  }
  layout.has_offsets = branch.GetEntryOffsetLen() != 0;
  layout.type_name = leaf.GetTypeName();
  layout.entry_size = layout.has_offsets ? 0 : entry_size_of(forms);
  layout.column = column_of(forms);
  if (!layout.column) {
    layout.form = entry_form_of(forms);
    layout.type_name = std::string{branch.GetTitle()} + "/" + leaf.GetTypeName();
  }
}

/// The collection proxy of a class; null if it is of another kind or has pointers.
TVirtualCollectionProxy* collection_of(TClass& type, int kind) {
  auto* collection = type.GetCollectionProxy();
  return collection != nullptr && collection->GetCollectionType() == kind &&
                 !collection->HasPointers()
             ? collection
             : nullptr;
}

/// Type of an unsplit branch of objects of this class.
std::optional<ColumnType> column_of(TClass& type) {
  if (std::string_view{type.GetName()} == "string") {
    return ColumnType{ElementType::character, Shape::jagged};
  }
  auto* outer = collection_of(type, ROOT::kSTLvector);
  TClass* inner_type = outer != nullptr ? outer->GetValueClass() : nullptr;
  if (inner_type != nullptr && std::string_view{inner_type->GetName()} == "string") {
    return ColumnType{ElementType::character, Shape::doubly_jagged};
  }
  if (outer == nullptr) {
    outer = collection_of(type, ROOT::kROOTRVec);  // RDataFrame's: the same bytes
  }
  auto* inner = inner_type != nullptr ? collection_of(*inner_type, ROOT::kSTLvector) : outer;
  if (inner == nullptr || inner->GetValueClass() != nullptr || !holds_numbers(*inner)) {
    return {};
  }
  if (const auto element = element_of(inner->GetType())) {
    return ColumnType{*element, inner == outer ? Shape::jagged : Shape::doubly_jagged};
  }
  return {};
}

void describe_object(TBranchElement& branch, BranchLayout& layout) {
  layout.type_name = branch.GetClassName();
  layout.has_offsets = branch.GetEntryOffsetLen() != 0;
  TClass* type = TClass::GetClass(branch.GetClassName());
  const bool is_leaf = branch.GetListOfBranches()->GetEntriesFast() == 0 && branch.GetID() < 0;
  if (!is_leaf || type == nullptr) {
    return;
  }
  if (const auto column = column_of(*type)) {
    layout.column = column;
    layout.header_bytes = type->GetCollectionProxy() != nullptr ? vector_header_bytes : 0;
  }
}

}  // namespace

std::string BranchLayout::described_type() const {
  return column ? column->name() : "other:" + type_name;
}

std::string BranchLayout::described_form() const {
  const bool is_object = header_bytes > 0 || type_name == "string";
  return described_type() + (counter.empty() ? "" : " counted by " + counter) +
         (is_object ? " in an object" : "");
}

TBranch* branch_at(TTree& tree, const BranchPlace& place) {
  std::size_t number = 0;
  for (TObject* branch : *tree.GetListOfBranches()) {
    if (place.name == branch->GetName() && number++ == place.number) {
      return dynamic_cast<TBranch*>(branch);
    }
  }
  return nullptr;
}

BranchLayout layout_of(TBranch& branch) {
  BranchLayout layout;
  layout.name = branch.GetName();
  if (auto* element = dynamic_cast<TBranchElement*>(&branch)) {
    describe_object(*element, layout);
  } else if (branch.IsA() == TBranch::Class() && branch.GetListOfLeaves()->GetEntriesFast() > 0) {
    describe_leaves(branch, layout);
  } else {
    layout.type_name = branch.GetClassName();
    layout.has_offsets = branch.GetEntryOffsetLen() != 0;
  }
  return layout;
}

bool has_baskets(TBranch& branch) {
  constexpr int clones = 3, collection = 4;
  const auto* element = dynamic_cast<TBranchElement*>(&branch);
  return branch.GetListOfBranches()->GetEntriesFast() == 0 ||
         (element != nullptr && (element->GetType() == clones || element->GetType() == collection));
}

namespace {

/// Nothing was written of it, nor of what is within it.
bool is_empty(TBranch& branch) {
  if (has_baskets(branch) && branch.GetEntries() > 0) {
    return false;
  }
  for (TObject* within : *branch.GetListOfBranches()) {
    if (!is_empty(static_cast<TBranch&>(*within))) {
      return false;
    }
  }
  return true;
}

/// Whether it counts the values of other branches.
bool counts_others(TBranch& branch) {
  for (TObject* leaf : *branch.GetListOfLeaves()) {
    if (static_cast<TLeaf*>(leaf)->IsRange()) {
      return branch.GetListOfBranches()->GetEntriesFast() == 0;
    }
  }
  return false;
}

void add_branch(TBranch& branch, BranchTree& all) {
  (has_baskets(branch) ? all.filled : all.holders).push_back(&branch);
  for (TObject* object : *branch.GetListOfBranches()) {
    auto& within = static_cast<TBranch&>(*object);
    if (!was_disabled(within)) {
      add_branch(within, all);
    }
  }
}

}  // namespace

bool was_disabled(TBranch& within) {
  return within.GetTree()->GetEntries() > 0 && is_empty(within) && !counts_others(within);
}

BranchTree all_branches(TTree& tree) {
  BranchTree all;
  for (TObject* top : *tree.GetListOfBranches()) {
    add_branch(static_cast<TBranch&>(*top), all);
  }
  if (auto* table = tree.GetBranchRef()) {
    add_branch(*table, all);
  }
  return all;
}

BranchTree all_branches(TBranch& top) {
  BranchTree all;
  add_branch(top, all);
  return all;
}

bool has_relocatable_entries(TBranch& branch) {
  auto* element = dynamic_cast<TBranchElement*>(&branch);
  if (element == nullptr) {
    return branch.IsA() == TBranch::Class() && branch.GetListOfLeaves()->GetEntriesFast() > 0;
  }
  return has_movable_entries(*element) || layout_of(branch).column.has_value();
}

bool is_relocatable(TBranch& top) {
  const auto all = all_branches(top);
  const auto is_element = [](TBranch* branch) { return branch->IsA() == TBranchElement::Class(); };
  return std::ranges::all_of(all.filled,
                             [](TBranch* branch) { return has_relocatable_entries(*branch); }) &&
         std::ranges::all_of(all.holders, is_element);
}

std::string form_of(TBranch& branch) {
  const auto layout = layout_of(branch);
  auto* element = dynamic_cast<TBranchElement*>(&branch);
  if (layout.column || element == nullptr) {
    return layout.described_form();
  }
  return layout.described_type() + ", class version " + std::to_string(element->GetClassVersion()) +
         ", form " + std::to_string(element->GetType()) + "/" +
         std::to_string(element->GetStreamerType());
}

int largest_count(TBranch& branch) {
  auto* element = dynamic_cast<TBranchElement*>(&branch);
  return element == nullptr ? 0 : CountAccess::of(*element);
}

void set_largest_count(TBranch& branch, int largest) {
  if (auto* element = dynamic_cast<TBranchElement*>(&branch)) {
    CountAccess::of(*element) = largest;
  }
}

}  // namespace forkrun::root_io
