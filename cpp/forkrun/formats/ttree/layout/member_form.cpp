#include <forkrun/formats/ttree/layout/member_form.hpp>

#include <array>
#include <charconv>
#include <utility>

namespace forkrun::root_io {

namespace {

constexpr int of_arrays = 20, of_pointers = 40;  ///< ROOT adds these to the numbers of types

/// Sizes after a name, "fP[3]": none if one is no number. More of them than a column has become
/// one: the values lie row after row.
std::optional<std::array<std::uint32_t, ColumnType::most_dimensions>> sizes_after(
    std::string_view name) {
  std::array<std::uint32_t, ColumnType::most_dimensions> sizes{};
  std::size_t n = 0;
  std::uint64_t product = 1;
  for (auto at = name.find('['); at != std::string_view::npos; at = name.find('[', at + 1)) {
    std::uint32_t size = 0;
    const auto* const last = name.data() + name.size();
    const auto [end, error] = std::from_chars(&name[at] + 1, last, size);
    constexpr std::uint64_t most = 1U << 28U;
    if (error != std::errc{} || end == last || *end != ']' || size == 0 ||
        (product *= size) > most) {
      return {};
    }
    if (n < sizes.size()) {
      sizes.at(n) = size;
    }
    ++n;
  }
  if (n > sizes.size()) {
    sizes = {static_cast<std::uint32_t>(product)};
  }
  return n == 0 ? std::nullopt : std::optional{sizes};
}

}  // namespace

std::optional<ElementType> element_of_type(int type) {
  switch (type) {
    case 1:
    case 10: return ElementType::int8;
    case 2: return ElementType::int16;
    case 3:
    case 6: return ElementType::int32;  // 6: it counts others
    case 4:
    case 16: return ElementType::int64;
    case 5: return ElementType::float32;
    case 8: return ElementType::float64;
    case 11: return ElementType::uint8;
    case 12: return ElementType::uint16;
    case 13: return ElementType::uint32;
    case 14:
    case 17: return ElementType::uint64;
    case 18: return ElementType::boolean;
    default: return {};
  }
}

bool MemberForm::is_of_many() const {
  constexpr int of_clones = 31, of_collection = 41;
  return kind == of_clones || kind == of_collection;
}

MemberForm parse_member_form(ObjectStream& from, StructureText& structure) {
  MemberForm form{std::string{from.text()}};
  structure.add(form.class_name);
  structure.add(from.text());  // its parent's class
  structure.add(from.text());  // that within a TClonesArray
  form.checksum = from.number<std::uint32_t>();
  form.version = from.number<std::int16_t>();
  form.member = from.number<std::int32_t>();
  form.kind = from.number<std::int32_t>();
  form.type = from.number<std::int32_t>();
  for (const int number :
       {static_cast<int>(form.checksum), form.version, form.member, form.kind, form.type}) {
    structure.add_number(number);
  }
  return form;
}

std::string column_name(std::string_view top, std::string_view branch) {
  top = top.ends_with('.') ? top.substr(0, top.size() - 1) : top;
  branch = branch.substr(0, branch.find('['));
  branch = branch.ends_with('.') ? branch.substr(0, branch.size() - 1) : branch;
  const bool is_whole =
      branch.starts_with(top) && branch.size() > top.size() && branch[top.size()] == '.';
  return is_whole ? std::string{branch} : std::string{top} + '.' + std::string{branch};
}

void describe_member(std::string_view branch, const MemberForm& form, BranchLayout& layout) {
  layout.type_name = form.class_name;
  const bool is_array = form.type > of_arrays && form.type < of_pointers;
  const auto element = element_of_type(is_array ? form.type - of_arrays : form.type);
  const auto sizes = sizes_after(branch);
  if (!element || form.member < 0 || is_array != sizes.has_value() ||
      (form.is_of_many() && !layout.has_offsets)) {
    return;
  }
  layout.column = ColumnType{*element, form.is_of_many() ? Shape::jagged : Shape::scalar};
  if (is_array) {
    layout.column->dimensions = *sizes;
  }
}

}  // namespace forkrun::root_io
