#include <forkrun/formats/rntuple/write/new_fields.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/rntuple/write/page_encoding.hpp>

namespace forkrun::rntuple {

namespace {

std::string name_of(ElementType element) {
  switch (element) {
    case ElementType::boolean: return "bool";
    case ElementType::float32: return "float";
    case ElementType::float64: return "double";
    case ElementType::character: return "std::string";
    default: return "std::" + ColumnType{element}.name() + "_t";
  }
}

/// In C++, of the values without their lists; arrays from this dimension on.
std::string item_type(const ColumnType& type, std::size_t dimension = 0) {
  if (dimension == ColumnType::most_dimensions || type.dimensions[dimension] == 0) {
    return name_of(type.element);
  }
  return "std::array<" + item_type(type, dimension + 1) + "," +
         std::to_string(type.dimensions[dimension]) + ">";
}

/// Lists around the items, or texts.
std::size_t n_lists_of(const ColumnType& type) {
  return type.n_levels() - (type.is_text() ? 1 : 0);
}

std::string list_type(const ColumnType& type, std::size_t n_lists) {
  return n_lists == 0 ? item_type(type) : "std::vector<" + list_type(type, n_lists - 1) + ">";
}

void require_name(const std::string& name) {
  const bool is_possible = std::ranges::none_of(
      name, [](char c) { return c == '/' || c == '\\' || static_cast<unsigned char>(c) < ' '; });
  if (name.empty() || !is_possible) {
    throw Error("\"" + name +
                "\" cannot be the name of a field in an RNTuple; drop it, or write "
                "format = \"ttree\"");
  }
}

}  // namespace

NewFields::NewFields(Schema& schema) : schema_{schema} {}

void NewFields::know_list(const std::string& counter, std::uint32_t field) {
  const auto& list = schema_.fields[field];
  groups_[counter] = {0, field, list.children[0], list.columns[0], true, true};
}

void NewFields::show_members(const std::string& counter, const std::set<std::string>& taken) {
  const auto& group = groups_.at(counter);
  const auto list = group.list;
  if (std::ranges::count(schema_.fields, list, &Field::source) > 0) {
    return;
  }
  if (!taken.contains(counter)) {
    add_counter(counter, {ElementType::uint32}, group);
  }
  const auto prefix = schema_.fields[list].name + "_";
  const auto members = schema_.fields[schema_.fields[list].children[0]].children;
  for (const auto member : members) {
    const auto field = schema_.fields[member];
    const bool is_number = field.role == FieldRole::leaf && field.n_repetitions == 0 &&
                           field.columns.size() == 1 && !field.source;
    const auto name = prefix + field.name;
    if (is_number && !taken.contains(name) && !find({}, name)) {
      show_member(name, list, member, field.type);
    }
  }
}

std::vector<FieldPlace> NewFields::add(std::span<const NewField> fields) {
  find_groups(fields);
  names_.clear();
  for (const auto& field : fields) {
    names_.insert(field.name);
  }
  std::vector<FieldPlace> places(fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!is_counter(fields[i])) {
      places[i] = add_field(fields[i]);
    }
  }
  for (const auto& field : fields) {
    if (is_counter(field)) {
      add_counter(field.name, field.type, groups_.at(field.name));
    }
  }
  for (const auto& [counter, group] : groups_) {
    if (group.n_fields > 0 && !find({}, counter)) {
      add_counter(counter, {ElementType::uint32}, group);
    }
  }
  return places;
}

bool NewFields::is_counter(const NewField& field) const {
  return groups_.contains(field.name) && field.type == ColumnType{field.type.element};
}

void NewFields::find_groups(std::span<const NewField> fields) {
  for (const auto& field : fields) {
    require_name(field.name);
    const bool has_record = field.name.find('.') != std::string::npos;
    if (field.type.is_counted() && !field.counter.empty() && !has_record) {
      ++groups_[field.counter].n_fields;
    }
  }
}

/// The list of records of a group, unless its only field is a vector of the list's name.
void NewFields::make_list(const NewField& first, Group& group) {
  const auto& counter = first.counter;
  const auto own = counter.starts_with('n') ? counter.substr(1) : std::string{};
  group.has_name = true;
  if (group.n_fields == 1 && first.name == own) {
    return;
  }
  auto name = own;
  const auto is_possible = [&] {
    return !name.empty() && name.find('.') == std::string::npos && !names_.contains(name) &&
           !find({}, name);
  };
  for (int n = 0; !is_possible(); ++n) {
    name = "_collection" + std::to_string(n);  // as ROOT's importer of trees has it
  }
  group.list = put({}, FieldRole::collection, name, "");
  group.ends = put_column(new_ends(group.list));
  group.record = put(group.list, FieldRole::record, "_0", "");
}

FieldPlace NewFields::add_field(const NewField& field) {
  const bool has_record = field.name.find('.') != std::string::npos;
  if (const auto group = groups_.find(field.counter);
      group != groups_.end() && field.type.is_counted() && !has_record) {
    return add_member(field, group->second);
  }
  auto name = field.name;
  const auto parent = record_of(name);
  FieldPlace place;
  add_lists(parent, name, field.type, place);
  return place;
}

FieldPlace NewFields::add_member(const NewField& field, Group& group) {
  FieldPlace place;
  if (!group.has_name) {
    make_list(field, group);
  }
  if (!group.record) {
    group.list = add_lists({}, field.name, field.type, place);
    group.ends = place.ends[0];
    return place;
  }
  const auto prefix = schema_.fields[group.list].name + "_";
  const bool has_prefix = field.name.starts_with(prefix) && field.name.size() > prefix.size();
  auto member = has_prefix ? field.name.substr(prefix.size()) : field.name;
  if (find(group.record, member)) {
    member = field.name;
  }
  place.ends = {group.ends};
  place.shares_ends = std::exchange(group.is_filled, true);
  const auto item = add_item(group.record, member, field.type, place);
  show_member(field.name, group.list, item, item_type(field.type));
  return place;
}

void NewFields::show_member(const std::string& name, std::uint32_t list, std::uint32_t item,
                            const std::string& type) {
  const auto projected = put({}, FieldRole::collection, name, "ROOT::VecOps::RVec<" + type + ">");
  schema_.fields[projected].source = list;
  schema_.fields[projected].columns = schema_.fields[list].columns;
  project(projected, "_0", item);
}

/// A projected field, the number of items in each list.
void NewFields::add_counter(const std::string& name, ColumnType type, const Group& group) {
  if (find({}, name)) {
    return;
  }
  const bool is_wide = size_of(type.element) > size_of(ElementType::uint32);
  const std::string element = is_wide ? "std::uint64_t" : "std::uint32_t";
  const auto projected =
      put({}, FieldRole::leaf, name, "ROOT::RNTupleCardinality<" + element + ">");
  schema_.fields[projected].source = group.list;
  schema_.fields[projected].columns = {group.ends};
}

std::uint32_t NewFields::add_lists(std::optional<std::uint32_t> parent, const std::string& name,
                                   ColumnType type, FieldPlace& place) {
  const auto n_lists = n_lists_of(type);
  std::optional<std::uint32_t> outermost;
  auto within = parent;
  auto own_name = name;
  for (auto level = n_lists; level > 0; --level) {
    within = put(within, FieldRole::collection, own_name, list_type(type, level));
    place.ends.push_back(put_column(new_ends(*within)));
    outermost = outermost.value_or(*within);
    own_name = "_0";
  }
  const auto item = add_item(within, own_name, type, place);
  return outermost.value_or(item);
}

std::uint32_t NewFields::add_item(std::optional<std::uint32_t> parent, const std::string& name,
                                  ColumnType type, FieldPlace& place) {
  std::optional<std::uint32_t> outermost;
  auto within = parent;
  auto own_name = name;
  for (std::size_t i = 0; i < type.dimensions.size() && type.dimensions[i] > 0; ++i) {
    within = put(within, FieldRole::leaf, own_name, item_type(type, i));
    schema_.fields[*within].n_repetitions = type.dimensions[i];
    outermost = outermost.value_or(*within);
    own_name = "_0";
  }
  const auto leaf = put(within, FieldRole::leaf, own_name, name_of(type.element));
  if (type.is_text()) {
    place.ends.push_back(put_column(new_ends(leaf)));
  }
  place.values = put_column(new_column(type.element, leaf));
  return outermost.value_or(leaf);
}

std::uint32_t NewFields::put(std::optional<std::uint32_t> parent, FieldRole role,
                             const std::string& name, const std::string& type) {
  const auto number = static_cast<std::uint32_t>(schema_.fields.size());
  Field field;
  field.parent = parent.value_or(number);
  field.role = role;
  field.name = name;
  field.type = type;
  schema_.fields.push_back(std::move(field));
  if (parent) {
    schema_.fields[*parent].children.push_back(number);
  }
  return number;
}

std::uint32_t NewFields::put_column(const StoredColumn& column) {
  const auto number = static_cast<std::uint32_t>(schema_.columns.size());
  schema_.columns.push_back(column);
  schema_.fields[column.field].columns.push_back(number);
  return number;
}

/// A field that shows another one, with all that is in it.
std::uint32_t NewFields::project(std::optional<std::uint32_t> parent, const std::string& name,
                                 std::uint32_t source) {
  const auto shown = schema_.fields[source];
  const auto number = put(parent, shown.role, name, shown.type);
  auto& field = schema_.fields[number];
  field.source = source;
  field.columns = shown.columns;
  field.n_repetitions = shown.n_repetitions;
  for (const auto child : shown.children) {
    project(number, schema_.fields[child].name, child);
  }
  return number;
}

/// The record "track" of "track.x", whose name becomes "x"; it is made if need be.
std::optional<std::uint32_t> NewFields::record_of(std::string& name) {
  std::optional<std::uint32_t> parent;
  for (auto dot = name.find('.'); dot != std::string::npos; dot = name.find('.')) {
    const auto of_record = name.substr(0, dot);
    const auto known = find(parent, of_record);
    if (known && schema_.fields[*known].role != FieldRole::record) {
      std::ranges::replace(name, '.', '_');
      return parent;
    }
    parent = known ? *known : put(parent, FieldRole::record, of_record, "");
    schema_.fields[*parent].type.clear();  // its class would lack the new member
    schema_.fields[*parent].alias.clear();
    schema_.fields[*parent].type_checksum.reset();
    name.erase(0, dot + 1);
  }
  return parent;
}

std::optional<std::uint32_t> NewFields::find(std::optional<std::uint32_t> parent,
                                             const std::string& name) const {
  const auto& fields = schema_.fields;
  if (parent) {
    const auto& within = fields[*parent].children;
    const auto found = std::ranges::find(within, name, [&](auto n) { return fields[n].name; });
    return found == within.end() ? std::nullopt : std::optional{*found};
  }
  for (std::uint32_t number = 0; number < fields.size(); ++number) {
    if (fields[number].parent == number && fields[number].name == name) {
      return number;
    }
  }
  return {};
}

void add_ends(std::span<const std::int64_t> offsets, PendingColumn& ends) {
  const auto shift = ends.last_end() - offsets[0];
  auto* to = ends.extend(offsets.size() - 1);
  for (const auto offset : offsets.subspan(1)) {
    const auto end = offset + shift;
    std::memcpy(to, &end, sizeof end);
    to += sizeof end;
  }
}

void add_events(const Column& from, const EntryRun& events, const FieldPlace& place,
                std::span<PendingColumn> columns) {
  if (!place.values) {
    return;
  }
  auto first = static_cast<std::size_t>(events.first);
  auto last = static_cast<std::size_t>(events.last);
  for (std::size_t level = 0; level < place.ends.size(); ++level) {
    const auto offsets = from.offsets(level).subspan(first, last - first + 1);
    if (level > 0 || !place.shares_ends) {
      add_ends(offsets, columns[place.ends[level]]);
    }
    first = static_cast<std::size_t>(offsets.front());
    last = static_cast<std::size_t>(offsets.back());
  }
  const auto n_in_item = from.type().n_in_item();
  const auto n_bytes = (last - first) * n_in_item * size_of(from.type().element);
  auto* to = columns[*place.values].extend((last - first) * n_in_item);
  if (n_bytes > 0) {
    const auto* values = from.values_buffer()->data();
    std::memcpy(to, values + first * n_in_item * size_of(from.type().element), n_bytes);
  }
}

}  // namespace forkrun::rntuple
