#include <forkrun/root_io/branch_layout.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string_view>

#include <TBranch.h>
#include <TBranchElement.h>
#include <TClass.h>
#include <TLeaf.h>
#include <TLeafC.h>
#include <TLeafObject.h>
#include <TTree.h>
#include <TVirtualCollectionProxy.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/root_io/movable.hpp>

namespace forkrun::root_io {

namespace {

constexpr std::size_t vector_header_bytes = 10;  // byte count, version, size

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

std::optional<ElementType> element_of(const TLeaf& leaf) {
  const bool is_unsigned = leaf.IsUnsigned();
  switch (leaf.IsA()->GetName()[5]) {  // TLeafX, the whole name is checked by the caller
    case 'O': return ElementType::boolean;
    case 'B': return is_unsigned ? ElementType::uint8 : ElementType::int8;
    case 'S': return is_unsigned ? ElementType::uint16 : ElementType::int16;
    case 'I': return is_unsigned ? ElementType::uint32 : ElementType::int32;
    case 'L':
    case 'G': return is_unsigned ? ElementType::uint64 : ElementType::int64;
    case 'F': return ElementType::float32;
    case 'D': return ElementType::float64;
    default: return std::nullopt;
  }
}

/// ROOT keeps the largest count of a branch for itself.
struct CountAccess : TBranchElement {
  static int& of(TBranchElement& branch) { return branch.*(&CountAccess::fMaximum); }
};

/// TLeafF, TLeafI, … and not TLeafF16, TLeafObject, TLeafElement.
bool is_arithmetic(const TLeaf& leaf) {
  const std::string_view name{leaf.IsA()->GetName()};
  return name.size() == 6 && name.starts_with("TLeaf");
}

/// An object as a `T`: in a damaged file any object may stand where a leaf or branch belongs.
template <typename T>
T& as(TObject* object, const char* what, const std::string& where) {
  auto* found = dynamic_cast<T*>(object);
  if (found == nullptr) {
    throw InputError(where + " is damaged: it has no " + what + " where one belongs");
  }
  return *found;
}

/// Sizes in a title such as "x[n][2][3]", without the number of a counter. More of them than a
/// column has become one: the values lie row after row.
std::array<std::uint32_t, ColumnType::most_dimensions> dimensions_of(const TLeaf& leaf) {
  std::array<std::uint32_t, ColumnType::most_dimensions> dimensions{};
  const auto n_values = static_cast<std::uint32_t>(leaf.GetLenStatic());
  std::uint32_t product = 1;
  std::size_t n = 0;
  const std::string_view title{leaf.GetTitle()};
  for (auto at = title.find('['); at != std::string_view::npos; at = title.find('[', at + 1)) {
    std::uint32_t size = 0;
    std::from_chars(title.data() + at + 1, title.data() + title.size(), size);
    if (size > 0 && n < dimensions.size()) {
      dimensions.at(n++) = size;
      product *= size;
    }
  }
  if (product != n_values) {
    return {n_values};
  }
  return dimensions;
}

void describe_leaves(TBranch& branch, BranchLayout& layout) {
  const auto& leaves = *branch.GetListOfLeaves();
  const auto& leaf = as<TLeaf>(leaves.At(0), "leaf", "branch " + layout.name);
  if (auto* count = static_cast<TObject*>(leaf.GetLeafCount())) {
    const auto& counter = as<TLeaf>(count, "leaf that counts", "branch " + layout.name);
    layout.counter = as<TBranch>(counter.GetBranch(), "branch that counts", layout.name).GetName();
  }
  layout.has_offsets = branch.GetEntryOffsetLen() != 0;
  layout.type_name = leaf.GetTypeName();
  if (leaves.GetEntriesFast() == 1 && leaf.IsA() == TLeafC::Class()) {
    layout.column = ColumnType{ElementType::character, Shape::jagged};
    return;
  }
  if (leaves.GetEntriesFast() > 1 || leaf.GetLenStatic() < 1 || !is_arithmetic(leaf)) {
    layout.type_name = std::string{branch.GetTitle()} + "/" + leaf.GetTypeName();
    return;
  }
  if (const auto element = element_of(leaf)) {
    layout.column = ColumnType{*element, layout.counter.empty() ? Shape::scalar : Shape::jagged};
    if (leaf.GetLenStatic() > 1) {
      layout.column->dimensions = dimensions_of(leaf);
    }
  }
}

/// Of a branch that holds an object of this class and is not split.
std::optional<ColumnType> column_of(TClass& type) {
  const auto vector_of = [](TClass& of) -> TVirtualCollectionProxy* {
    auto* collection = of.GetCollectionProxy();
    return collection != nullptr && collection->GetCollectionType() == ROOT::kSTLvector &&
                   !collection->HasPointers()
               ? collection
               : nullptr;
  };
  if (std::string_view{type.GetName()} == "string") {
    return ColumnType{ElementType::character, Shape::jagged};
  }
  auto* outer = vector_of(type);
  TClass* inner_type = outer != nullptr ? outer->GetValueClass() : nullptr;
  if (inner_type != nullptr && std::string_view{inner_type->GetName()} == "string") {
    return ColumnType{ElementType::character, Shape::doubly_jagged};
  }
  auto* inner = inner_type != nullptr ? vector_of(*inner_type) : outer;
  if (inner == nullptr || inner->GetValueClass() != nullptr) {
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
  layout.relocatable = has_movable_entries(branch);
  if (!is_leaf || type == nullptr) {
    return;
  }
  if (const auto column = column_of(*type)) {
    layout.column = column;
    layout.header_bytes = type->GetCollectionProxy() != nullptr ? vector_header_bytes : 0;
    layout.relocatable = true;
  }
}

}  // namespace

std::string BranchLayout::described_type() const {
  return column ? column->name() : "other:" + type_name;
}

TBranch* branch_named(TTree& tree, const std::string& name) {
  TBranch* branch = tree.GetBranch(name.c_str());  // looks into a hash table first
  if (branch != nullptr && branch->GetMother() == branch && name == branch->GetName()) {
    return branch;
  }
  return dynamic_cast<TBranch*>(tree.GetListOfBranches()->FindObject(name.c_str()));
}

BranchLayout layout_of(TBranch& branch) {
  BranchLayout layout;
  layout.name = branch.GetName();
  if (auto* element = dynamic_cast<TBranchElement*>(&branch)) {
    describe_object(*element, layout);
  } else if (branch.IsA() == TBranch::Class() && branch.GetListOfLeaves()->GetEntriesFast() > 0) {
    describe_leaves(branch, layout);
    layout.relocatable = true;
  } else {
    layout.type_name = branch.GetClassName();
  }
  return layout;
}

std::vector<BranchLayout> layouts_of(TTree& tree) {
  std::vector<BranchLayout> layouts;
  for (TObject* branch : *tree.GetListOfBranches()) {
    layouts.push_back(
        layout_of(as<TBranch>(branch, "branch", std::string{"tree "} + tree.GetName())));
  }
  return layouts;
}

namespace {

bool has_baskets(TBranch& branch) {
  constexpr int clones = 3, collection = 4;
  const auto* element = dynamic_cast<TBranchElement*>(&branch);
  return branch.GetListOfBranches()->GetEntriesFast() == 0 ||
         (element != nullptr && (element->GetType() == clones || element->GetType() == collection));
}

void add_branches(const TObjArray& branches, BranchTree& all);

void add_branch(TBranch& branch, BranchTree& all) {
  (has_baskets(branch) ? all.filled : all.holders).push_back(&branch);
  add_branches(*branch.GetListOfBranches(), all);
}

void add_branches(const TObjArray& branches, BranchTree& all) {
  for (TObject* branch : branches) {
    add_branch(static_cast<TBranch&>(*branch), all);
  }
}

}  // namespace

BranchTree all_branches(TTree& tree) {
  BranchTree all;
  add_branches(*tree.GetListOfBranches(), all);
  return all;
}

BranchTree all_branches(TBranch& top) {
  BranchTree all;
  add_branch(top, all);
  return all;
}

bool is_relocatable(TBranch& top) {
  const auto all = all_branches(top);
  const auto is_element = [](TBranch* branch) { return branch->IsA() == TBranchElement::Class(); };
  return std::ranges::all_of(all.filled,
                             [](TBranch* branch) { return layout_of(*branch).relocatable; }) &&
         std::ranges::all_of(all.holders, is_element);
}

std::string form_of(TBranch& branch) {
  const auto layout = layout_of(branch);
  auto* element = dynamic_cast<TBranchElement*>(&branch);
  if (layout.column || element == nullptr) {
    return layout.described_type();
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
