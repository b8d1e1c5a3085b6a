#include <forkrun/formats/ttree/layout/leaf_form.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <string_view>
#include <utility>

#include <forkrun/core/data/column.hpp>
#include <forkrun/formats/ttree/layout/value_form.hpp>

namespace forkrun::root_io {

std::string leaf_name(const std::string& branch) {
  auto name = branch;
  std::ranges::replace_if(
      name, [](char c) { return std::string_view{":[]/"}.find(c) != std::string_view::npos; }, '_');
  return name;
}

std::string counter_of(const NewBranch& branch) {
  return branch.counter ? *branch.counter : counter_name(branch.name);
}

std::string leaf_title(const NewBranch& branch) {
  auto title = leaf_name(branch.name);
  if (branch.type.is_counted()) {
    title += "[" + leaf_name(counter_of(branch)) + "]";
  }
  for (const auto size : branch.type.dimensions) {
    title += size == 0 ? "" : "[" + std::to_string(size) + "]";
  }
  return title;
}

char leaf_letter(ElementType element) {
  constexpr std::array letters{'O', 'B', 'b', 'S', 's', 'I', 'i', 'L', 'l', 'F', 'D'};
  return letters.at(static_cast<std::size_t>(element));
}

namespace {

std::optional<ElementType> element_of(const LeafForm& leaf) {
  switch (leaf.type[5]) {  // TLeafX, the whole name is checked by the caller
    case 'O': return ElementType::boolean;
    case 'B': return leaf.is_unsigned ? ElementType::uint8 : ElementType::int8;
    case 'S': return leaf.is_unsigned ? ElementType::uint16 : ElementType::int16;
    case 'I': return leaf.is_unsigned ? ElementType::uint32 : ElementType::int32;
    case 'L':
    case 'G': return leaf.is_unsigned ? ElementType::uint64 : ElementType::int64;
    case 'F': return ElementType::float32;
    case 'D': return ElementType::float64;
    default: return std::nullopt;
  }
}

/// Sizes in a title such as "x[n][2][3]", without the number of a counter, and without the range of
/// packed numbers, "x[2]/f[0,10,8]". More of them than a
/// column has become one: the values lie row after row.
std::array<std::uint32_t, ColumnType::most_dimensions> dimensions_of(const LeafForm& leaf) {
  std::array<std::uint32_t, ColumnType::most_dimensions> dimensions{};
  const auto n_values = static_cast<std::uint32_t>(leaf.n_values);
  std::uint32_t product = 1;
  std::size_t n = 0;
  const auto title = leaf.title;
  for (auto at = title.find('['); at != std::string_view::npos; at = title.find('[', at + 1)) {
    std::uint32_t size = 0;
    const auto* const last = title.data() + title.size();
    const auto* const end = std::from_chars(title.data() + at + 1, last, size).ptr;
    if (size > 0 && end != last && *end == ']' && n < dimensions.size()) {
      dimensions.at(n++) = size;
      product *= size;
    }
  }
  if (product != n_values) {
    return {n_values};
  }
  return dimensions;
}

/// Form of one leaf, a member of its branch.
ValueForm form_of(const LeafForm& leaf) {
  ValueForm form{.kind = ValueForm::Kind::none};
  form.name = leaf.title.substr(0, leaf.title.find_first_of("[/"));
  const bool is_float16 = leaf.type == "TLeafF16";
  const auto element = is_arithmetic(leaf.type) ? element_of(leaf) : std::nullopt;
  if (leaf.n_values < 1) {
    return form;
  }
  if (leaf.type == "TLeafC") {
    form.kind = ValueForm::Kind::text;
    form.may_lack_length = true;
  } else if (is_packed(leaf.type)) {
    form.kind = ValueForm::Kind::packed;
    form.element = is_float16 ? ElementType::float32 : ElementType::float64;
    form.packing = packing_in(leaf.title, is_float16);
  } else if (element) {
    form.kind = ValueForm::Kind::number;
    form.element = *element;
  }
  if (leaf.n_values > 1 && form.kind != ValueForm::Kind::text) {
    const auto sizes = dimensions_of(leaf);
    form.sizes.assign(sizes.begin(), std::ranges::find(sizes, 0U));
  }
  return form;
}

/// Text between the brackets of "vector<…>", or of another list; "" if the name has another form.
std::string_view within(std::string_view name, std::string_view begin = "vector<") {
  if (!name.starts_with(begin) || !name.ends_with('>')) {
    return "";
  }
  name = name.substr(begin.size(), name.size() - begin.size() - 1);
  return name.ends_with(' ') ? name.substr(0, name.size() - 1) : name;
}

}  // namespace

std::optional<ElementType> element_named(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, ElementType>, 15> names{{
      {"bool", ElementType::boolean},
      {"char", ElementType::int8},
      {"unsigned char", ElementType::uint8},
      {"short", ElementType::int16},
      {"unsigned short", ElementType::uint16},
      {"int", ElementType::int32},
      {"unsigned int", ElementType::uint32},
      {"long", ElementType::int64},
      {"Long64_t", ElementType::int64},
      {"long long", ElementType::int64},
      {"unsigned long", ElementType::uint64},
      {"ULong64_t", ElementType::uint64},
      {"unsigned long long", ElementType::uint64},
      {"float", ElementType::float32},
      {"double", ElementType::float64},
  }};
  const auto* found = std::ranges::find(names, name, &decltype(names)::value_type::first);
  return found == names.end() ? std::nullopt : std::optional{found->second};
}

bool is_arithmetic(std::string_view leaf_type) {
  return leaf_type.size() == 6 && leaf_type.starts_with("TLeaf");
}

bool is_packed(std::string_view leaf_type) {
  return leaf_type == "TLeafF16" || leaf_type == "TLeafD32";
}

bool is_possible(std::string_view leaf_type, int value_size, int offset) {
  LeafForm leaf;
  leaf.type = leaf_type;
  const auto element = is_arithmetic(leaf_type) ? element_of(leaf) : std::optional<ElementType>{};
  const bool is_text = leaf_type == "TLeafC";
  const auto size = is_text ? 1 : element ? static_cast<int>(size_of(*element)) : value_size;
  return value_size == size && (offset >= 0 || (!is_text && !element));
}

std::optional<ColumnType> column_of(const std::vector<LeafForm>& leaves) {
  const auto& leaf = leaves.front();
  if (leaves.size() == 1 && leaf.type == "TLeafC") {
    return ColumnType{ElementType::character, Shape::jagged};
  }
  if (leaves.size() > 1 || leaf.n_values < 1 || !is_arithmetic(leaf.type)) {
    return {};
  }
  const auto element = element_of(leaf);
  if (!element) {
    return {};
  }
  ColumnType column{*element, leaf.is_counted ? Shape::jagged : Shape::scalar};
  if (leaf.n_values > 1) {
    column.dimensions = dimensions_of(leaf);
  }
  return column;
}

std::shared_ptr<const EntryForm> entry_form_of(const std::vector<LeafForm>& leaves) {
  auto form = std::make_shared<EntryForm>();
  auto value = std::make_shared<ValueForm>();
  if (leaves.size() == 1 && is_packed(leaves[0].type)) {
    form->is_of_many = leaves[0].is_counted;
    *value = form_of(leaves[0]);
    value->name = "";
  } else {
    value->kind = ValueForm::Kind::object;
    for (const auto& leaf : leaves) {
      value->within.push_back(leaf.is_counted ? ValueForm{} : form_of(leaf));
    }
    for (auto& text : value->within) {  // without a length, it can only be read from the end
      const bool is_last = &text == &value->within.back();
      text.kind =
          text.kind == ValueForm::Kind::text && !is_last ? ValueForm::Kind::none : text.kind;
    }
  }
  form->value = std::move(value);
  return leaves.size() > 1 || is_packed(leaves[0].type) ? form : nullptr;
}

std::size_t entry_size_of(const std::vector<LeafForm>& leaves) {
  std::size_t size = 0;
  for (const auto& leaf : leaves) {
    const auto n_bytes = leaf.is_counted ? 0 : fixed_size(form_of(leaf));
    if (n_bytes == 0) {
      return 0;
    }
    size += n_bytes;
  }
  return size;
}

std::string_view value_type_of(const LeafForm& leaf) {
  if (is_packed(leaf.type)) {
    return leaf.type == "TLeafF16" ? "Float16_t" : "Double32_t";
  }
  switch (leaf.type[5]) {
    case 'O': return "Bool_t";
    case 'B':
    case 'C': return leaf.is_unsigned ? "UChar_t" : "Char_t";
    case 'S': return leaf.is_unsigned ? "UShort_t" : "Short_t";
    case 'I': return leaf.is_unsigned ? "UInt_t" : "Int_t";
    case 'L': return leaf.is_unsigned ? "ULong64_t" : "Long64_t";
    case 'G': return leaf.is_unsigned ? "ULong_t" : "Long_t";
    case 'F': return "Float_t";
    case 'D': return "Double_t";
    default: return "";
  }
}

ClassForm form_of_class(std::string_view name) {
  const ColumnType text{ElementType::character, Shape::jagged};
  if (name == "string") {
    return {true, text, false};
  }
  const auto value = within(name);
  if (value == "string") {
    return {true, ColumnType{ElementType::character, Shape::doubly_jagged}, true};
  }
  // RDataFrame's vectors are the same bytes
  if (const auto element =
          element_named(value.empty() ? within(name, "ROOT::VecOps::RVec<") : value)) {
    return {true, ColumnType{*element, Shape::jagged}, true};
  }
  if (const auto element = element_named(within(value))) {
    return {true, ColumnType{*element, Shape::doubly_jagged}, true};
  }
  const bool may_be_column = name.find("vector") != std::string_view::npos ||
                             name.find("RVec") != std::string_view::npos ||
                             name.find("string") != std::string_view::npos;
  return {!may_be_column, {}, false};
}

}  // namespace forkrun::root_io
