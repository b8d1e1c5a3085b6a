#include <forkrun/formats/ttree/layout/value_form.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include <forkrun/formats/ttree/layout/leaf_form.hpp>
#include <forkrun/formats/ttree/layout/member_form.hpp>

namespace forkrun::root_io {

namespace {

using Kind = ValueForm::Kind;
constexpr int deepest_form = 12;

/// ROOT's numbers of types, and what it adds for arrays and pointers.
constexpr int double32 = 9, object_bits = 15, float16 = 19, added_for_arrays = 20,
              added_for_pointers = 40;
constexpr int whole_object = 61, any_object = 62, of_objects = 80, last_object = 83;

ValueForm number(ElementType element, std::string name = {}) {
  ValueForm form{.kind = Kind::number, .name = std::move(name)};
  form.element = element;
  return form;
}

ValueForm no_form(std::string_view type) { return {.kind = Kind::none, .type = std::string{type}}; }

ValueForm list_of(ValueForm item) {
  ValueForm form{.kind = Kind::list};
  form.within.push_back(std::move(item));
  return form;
}

ValueForm bits() {
  ValueForm form{.kind = Kind::bits, .name = "fBits"};
  form.element = ElementType::uint32;
  return form;
}

ValueForm basic(const ClassMember& member) {
  const bool is_array = member.type > added_for_arrays && member.type < added_for_pointers;
  const int type = is_array ? member.type - added_for_arrays : member.type;
  ValueForm form{.kind = Kind::number};
  if (type == object_bits) {
    return bits();
  }
  if (type == double32 || type == float16) {
    form.kind = Kind::packed;
    form.element = type == float16 ? ElementType::float32 : ElementType::float64;
    form.packing = packing_in(member.title, type == float16);
  } else if (const auto element = element_of_type(type)) {
    form.element = *element;
  } else {
    return no_form(member.type_name);
  }
  if (is_array) {
    form.sizes = member.sizes;
  }
  return form;
}

/// Text between the first "<" of a name and the comma or bracket that ends the argument.
std::string_view first_argument(std::string_view name) {
  const auto begin = name.find('<');
  int depth = 0;
  for (auto at = begin; at < name.size(); ++at) {
    depth += name[at] == '<' ? 1 : name[at] == '>' ? -1 : 0;
    if ((depth == 1 && name[at] == ',') || depth == 0) {
      auto argument = name.substr(begin + 1, at - begin - 1);
      return argument.ends_with(' ') ? argument.substr(0, argument.size() - 1) : argument;
    }
  }
  return "";
}

bool is_list(std::string_view name) {
  constexpr std::array<std::string_view, 10> lists{"vector<",
                                                   "list<",
                                                   "deque<",
                                                   "set<",
                                                   "multiset<",
                                                   "unordered_set<",
                                                   "unordered_multiset<",
                                                   "forward_list<",
                                                   "RVec<",
                                                   "VecOps::RVec<"};
  return std::ranges::any_of(lists, [&](auto list) { return name.starts_with(list); });
}

std::string_view without_namespace(std::string_view name) {
  for (const std::string_view space : {"std::", "ROOT::"}) {
    name = name.starts_with(space) ? name.substr(space.size()) : name;
  }
  return name;
}

ValueForm t_object() {
  ValueForm form{.kind = Kind::object};
  form.within = {number(ElementType::uint16), number(ElementType::uint32, "fUniqueID"), bits()};
  return form;
}

ValueForm text_named(std::string name) { return {.kind = Kind::text, .name = std::move(name)}; }

/// Form of ROOT's own classes whose descriptions do not tell their bytes.
std::optional<ValueForm> form_of_root(std::string_view name) {
  ValueForm form{.kind = Kind::object};
  if (name == "TString") {
    return ValueForm{.kind = Kind::text};
  }
  if (name == "TObject") {
    return t_object();
  }
  if (name == "TNamed") {
    form.has_header = true;
    form.within = {t_object(), text_named("fName"), text_named("fTitle")};
    return form;
  }
  if (name == "TDatime") {
    form.within = {number(ElementType::uint32, "fDatime")};
    return form;
  }
  if (name == "TRef") {
    form.within = {number(ElementType::uint16), number(ElementType::uint32, "ref"), bits(),
                   number(ElementType::uint16, "pidf")};
    form.within[2].name = "";
    return form;
  }
  if (name == "TRefArray") {
    auto refs = list_of(number(ElementType::uint32));
    refs.name = "refs";
    refs.n_between = 6;  // the number of the first, and of the process
    form.has_header = true;
    form.within = {t_object(), text_named("fName"), std::move(refs)};
    return form;
  }
  constexpr std::array<std::pair<std::string_view, ElementType>, 6> arrays{
      {{"TArrayC", ElementType::int8},
       {"TArrayS", ElementType::int16},
       {"TArrayI", ElementType::int32},
       {"TArrayL64", ElementType::int64},
       {"TArrayF", ElementType::float32},
       {"TArrayD", ElementType::float64}}};
  const auto* found = std::ranges::find(arrays, name, &decltype(arrays)::value_type::first);
  return found == arrays.end() ? std::nullopt : std::optional{list_of(number(found->second))};
}

ValueForm form_of_described(std::string_view name, const FileClasses& classes, int depth) {
  if (auto form = form_of_root(name)) {
    return std::move(*form);
  }
  constexpr std::array<std::string_view, 5> others{"TClonesArray", "TObjArray", "TList",
                                                   "TCollection", "TProcessID"};
  const auto* description = classes.find(name);
  if (description == nullptr || depth > deepest_form || std::ranges::count(others, name) > 0) {
    return no_form(name);
  }
  ValueForm form{.kind = Kind::object, .type = std::string{name}};
  form.has_header = true;
  form.version = description->version;
  form.checksum = description->checksum;
  for (const auto& member : description->members) {
    form.within.push_back(form_of_member(member, classes, depth + 1));
  }
  return form;
}

/// Form of a value in a collection or a branch, without a header, except that of an object.
ValueForm form_of_type(std::string_view full_name, const FileClasses& classes, int depth) {
  const auto name = without_namespace(full_name);
  if (const auto element = element_named(name)) {
    return number(*element);
  }
  if (name == "Double32_t" || name == "Float16_t") {
    ValueForm form{.kind = Kind::packed};
    form.element = name == "Float16_t" ? ElementType::float32 : ElementType::float64;
    form.packing = packing_in("", name == "Float16_t");
    return form;
  }
  if (name == "string") {
    return {.kind = Kind::text};
  }
  if (name.starts_with("bitset<")) {
    return list_of(number(ElementType::boolean));
  }
  if (!is_list(name)) {
    const auto described = classes.find(full_name) == nullptr ? name : full_name;
    return name.ends_with('*') ? no_form(full_name) : form_of_described(described, classes, depth);
  }
  auto item = form_of_type(first_argument(name), classes, depth + 1);
  return item.kind == Kind::none ? no_form(full_name) : list_of(std::move(item));
}

/// The form of an entry or a member.
ValueForm with_header(ValueForm form) {
  form.has_header = form.kind == Kind::list || form.has_header;
  return form;
}

ValueForm form_of_held(const ClassMember& member, const FileClasses& classes, int depth) {
  const bool is_array = member.type > of_objects && member.type <= last_object;
  const int type = is_array ? member.type - added_for_arrays : member.type;
  if (type != whole_object && type != any_object && !form_of_root(member.type_name)) {
    return no_form(member.type_name);
  }
  auto form = form_of_described(member.type_name, classes, depth);
  if (!is_array || form.kind == Kind::none) {
    return form;
  }
  ValueForm array{.kind = Kind::array};
  array.sizes = member.sizes;
  array.within.push_back(std::move(form));
  return array;
}

ValueForm form_of_text(const ClassMember& member) {
  constexpr int text = 65;
  if (member.type == text + added_for_arrays) {
    ValueForm array{.kind = Kind::array, .has_header = true};
    array.sizes = member.sizes;
    array.within.push_back({.kind = Kind::text});
    return array;
  }
  return member.type == text ? ValueForm{.kind = Kind::text} : no_form(member.type_name);
}

ValueForm unnamed_form(const ClassMember& member, const FileClasses& classes, int depth) {
  if (depth > deepest_form) {
    return no_form(member.type_name);
  }
  if (member.kind == "TStreamerBasicType") {
    return basic(member);
  }
  if (member.kind == "TStreamerString") {
    return form_of_text(member);
  }
  if (member.kind == "TStreamerBase") {
    return form_of_described(member.name, classes, depth);
  }
  if (member.kind == "TStreamerSTL" || member.kind == "TStreamerSTLstring") {
    const auto is_array = !member.sizes.empty();
    auto form =
        is_array ? no_form(member.type_name) : form_of_type(member.type_name, classes, depth);
    form.has_header = true;
    return form;
  }
  if (member.kind == "TStreamerObject" || member.kind == "TStreamerObjectAny") {
    return form_of_held(member, classes, depth);
  }
  constexpr int pointer_to_object = 64, pointer_to_any = 69;
  if (member.type == pointer_to_object || member.type == pointer_to_any) {
    return {.kind = Kind::pointer, .type = member.type_name};
  }
  return no_form(member.type_name);
}

/// Whether its bytes end where the file, or what was read before, says.
bool has_known_end(const ValueForm& form) {
  return form.has_header ||
         (form.kind != Kind::none && std::ranges::all_of(form.within, has_known_end));
}

class ColumnsOfForm {
 public:
  void add(const ValueForm& form, std::size_t n_levels) {
    switch (form.kind) {
      case Kind::none:
      case Kind::pointer: return;
      case Kind::number:
      case Kind::packed:
      case Kind::bits: return add_sized(form, n_levels);
      case Kind::text: return add_column(ElementType::character, n_levels + 1);
      case Kind::list:
        if (sizes_.empty()) {
          add(form.within.front(), n_levels + 1);
        }
        return;
      case Kind::array: {
        const auto n_before = sizes_.size();
        sizes_.insert(sizes_.end(), form.sizes.begin(), form.sizes.end());
        add(form.within.front(), n_levels);
        sizes_.resize(n_before);
        return;
      }
      case Kind::object: return add_members(form, n_levels);
    }
  }

  std::vector<FormColumn> columns;

 private:
  /// Nothing after a member whose end is not known can be found.
  void add_members(const ValueForm& form, std::size_t n_levels) {
    for (std::size_t i = 0; i < form.within.size(); ++i) {
      const auto& member = form.within[i];
      if (i > 0 && !has_known_end(form.within[i - 1])) {
        return;
      }
      const bool is_base = member.name.empty();
      if (is_base && member.kind != Kind::object) {
        continue;
      }
      const auto before = name_;
      if (!is_base) {
        name_ += (name_.empty() ? "" : ".") + member.name;
      }
      path_.push_back(i);
      add(member, n_levels);
      path_.pop_back();
      name_ = before;
    }
  }

  void add_sized(const ValueForm& form, std::size_t n_levels) {
    const auto n_before = sizes_.size();
    sizes_.insert(sizes_.end(), form.sizes.begin(), form.sizes.end());
    add_column(form.element, n_levels);
    sizes_.resize(n_before);
  }

  void add_column(ElementType element, std::size_t n_levels) {
    if (const auto type = ColumnType::of(element, n_levels, sizes_)) {
      columns.push_back({name_, path_, *type});
    }
  }

  std::string name_;
  std::vector<std::size_t> path_;
  std::vector<std::uint32_t> sizes_;
};

}  // namespace

std::size_t ValueForm::n_items() const {
  std::size_t n = 1;
  for (const auto size : sizes) {
    n *= size;
  }
  return n;
}

ValueForm form_of_member(const ClassMember& member, const FileClasses& classes, int depth) {
  auto form = unnamed_form(member, classes, depth);
  form.name = member.kind == "TStreamerBase" ? "" : member.name;
  if (form.kind == Kind::none && form.type.empty()) {
    form.type = member.type_name;
  }
  return form;
}

ValueForm form_of_object(std::string_view class_name, const FileClasses& classes, bool has_name) {
  auto object = with_header(form_of_type(class_name, classes, 0));
  if (!has_name || object.kind == Kind::none) {
    return object;
  }
  ValueForm form{.kind = Kind::object};
  form.within = {{.kind = Kind::text}, number(ElementType::uint8), std::move(object)};
  return form;
}

EntryForm form_of_nested(ColumnType type) {
  auto form = type.is_text() ? ValueForm{.kind = Kind::text} : list_of(number(type.element));
  if (type.shape == Shape::jagged) {
    form.may_lack_length = true;  // in a branch of characters
  } else {
    form = with_header(list_of(std::move(form)));
  }
  return {std::make_shared<ValueForm>(std::move(form)), {}};
}

std::vector<FormColumn> columns_of(const ValueForm& form, std::size_t n_levels) {
  ColumnsOfForm found;
  found.add(form, n_levels);
  return std::move(found.columns);
}

}  // namespace forkrun::root_io
