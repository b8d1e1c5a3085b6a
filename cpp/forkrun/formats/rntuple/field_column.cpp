#include <forkrun/formats/rntuple/field_column.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <forkrun/formats/rntuple/page_values.hpp>

namespace forkrun::rntuple {

namespace {

/// Whether ROOT's importer of trees made it of branches with one counter: their projections have
/// names.
bool is_hidden(const std::string& name) {
  constexpr std::string_view prefix = "_collection";
  const auto end = name.find('.');
  return name.starts_with(prefix) && end != std::string::npos && end > prefix.size() &&
         std::ranges::all_of(name.substr(prefix.size(), end - prefix.size()),
                             [](char c) { return c >= '0' && c <= '9'; });
}

/// Makes the columns of all fields.
class Walk {
 public:
  explicit Walk(const Schema& schema) : schema_{schema} {}

  std::vector<FieldColumn> all() {
    for (std::uint32_t field = 0; field < schema_.fields.size(); ++field) {
      if (schema_.fields[field].parent == field) {
        const auto& [name, type] =
            std::pair{schema_.fields[field].name, schema_.fields[field].type};
        add(field, {name, type, {}, {}, 0, field});
      }
    }
    add_names_of_trees();
    set_counters();
    return std::move(columns_);
  }

 private:
  /// Place of a field in the fields around it. `class_name`: of the outermost of its name.
  struct Place {
    std::string name;
    std::string class_name;
    std::vector<Representations> lists;
    std::vector<std::uint32_t> dimensions;
    int depth{};
    std::uint32_t field{};
  };

  void add(std::uint32_t number, Place place) {
    constexpr int deepest = 100;
    const auto& field = schema_.fields[number];
    place.field = number;
    if (field.n_repetitions > UINT32_MAX || ++place.depth > deepest) {
      return add_other(place);
    }
    if (field.n_repetitions > 0) {
      place.dimensions.push_back(static_cast<std::uint32_t>(field.n_repetitions));
    }
    const auto columns = columns_of(schema_, field);
    switch (field.role) {
      case FieldRole::leaf:
        return columns.empty() ? add_within(field, place) : add_leaf(field, place);
      case FieldRole::record: return add_within(field, place);
      case FieldRole::collection:
        if (columns.size() == 1 && is_list(columns[0]) && place.dimensions.empty()) {
          place.lists.push_back(columns[0]);
          return add_within(field, place);
        }
        return add_other(place);
      default: return add_other(place);
    }
  }

  void add_within(const Field& field, const Place& place) {
    if (field.children.empty()) {
      return add_other(place);
    }
    for (const auto child : field.children) {
      const auto& [name, type] = std::pair{schema_.fields[child].name, schema_.fields[child].type};
      auto inner = place;
      const bool is_base = name.starts_with(':');
      if (field.role == FieldRole::record && !is_base) {
        inner.name += "." + name;
        inner.class_name = type;
      }
      add(child, std::move(inner));
    }
  }

  void add_leaf(const Field& field, const Place& place) {
    auto columns = columns_of(schema_, field);
    FieldColumn column{place.name, {}, place.class_name, place.lists, {}, false, "", place.field};
    auto n_levels = place.lists.size();
    std::optional<ElementType> element;
    if (columns.size() == 1 && is_list(columns[0])) {
      column.is_count = true;
      element = field.type.find("uint32") == std::string::npos ? ElementType::uint64
                                                               : ElementType::uint32;
    } else if (columns.size() == 2 && is_list(columns[0]) && place.dimensions.empty()) {
      column.lists.push_back(columns[0]);
      element = ElementType::character;
      ++n_levels;
    } else if (columns.size() == 1) {
      element = element_of_field(field.type, columns[0]);
    }
    column.type = element ? ColumnType::of(*element, n_levels, place.dimensions) : std::nullopt;
    if (element && !column.is_count && !is_readable(columns.back(), *element)) {
      column.type.reset();
    }
    column.values = std::move(columns.back());
    put(std::move(column));
  }

  [[nodiscard]] ElementType element_of_field(const std::string& type,
                                             const Representations& columns) const {
    const auto own = element_of(schema_.columns[columns[0]].encoding);
    if (own == ElementType::float32 && type == "double") {
      return ElementType::float64;
    }
    return own == ElementType::character ? ElementType::int8 : own;
  }

  void add_other(const Place& place) {
    put({place.name,
         {},
         place.class_name.empty() ? "a record" : place.class_name,
         {},
         {},
         false,
         "",
         place.field});
  }

  /// The first of several of one name: a member of a class, and not that of its base.
  void put(FieldColumn column) {
    if (names_.insert(column.name).second) {
      columns_.push_back(std::move(column));
    }
  }

  [[nodiscard]] bool is_list(const Representations& columns) const {
    return std::ranges::all_of(
        columns, [this](auto column) { return is_index(schema_.columns[column].encoding); });
  }
  [[nodiscard]] bool is_readable(const Representations& columns, ElementType element) const {
    return std::ranges::all_of(columns, [&](auto column) {
      return !is_index(schema_.columns[column].encoding) &&
             can_be_read_as(schema_.columns[column], element);
    });
  }

  void add_names_of_trees() {
    const auto own = columns_;
    for (std::uint32_t number = 0; number < schema_.fields.size(); ++number) {
      const auto& field = schema_.fields[number];
      if (field.parent == number && !is_hidden(field.name + ".") && has_members(field)) {
        add_names_of_members(field, own);
      }
    }
  }

  /// It is a list of records, or a record without a class.
  [[nodiscard]] bool has_members(const Field& field) const {
    if (field.role == FieldRole::record) {
      return field.type.empty();
    }
    return field.role == FieldRole::collection && !field.children.empty() &&
           schema_.fields[field.children[0]].role == FieldRole::record;
  }

  void add_names_of_members(const Field& field, const std::vector<FieldColumn>& own) {
    const auto columns = columns_of(schema_, field);
    if (columns.size() == 1 && is_list(columns[0])) {
      const ColumnType count{ElementType::uint32};
      put({"n" + field.name,
           count,
           "",
           {},
           columns[0],
           true,
           "",
           schema_.columns[columns[0][0]].field});
    }
    const auto prefix = field.name + ".";
    for (const auto& column : own) {
      if (column.type && column.name.starts_with(prefix)) {
        auto member = column;
        std::ranges::replace(member.name, '.', '_');
        put(std::move(member));
      }
    }
  }

  void set_counters() {
    std::map<Representations, std::string> counts;
    for (const auto& column : columns_) {
      if (column.is_count && column.lists.empty()) {
        counts.try_emplace(column.values, column.name);
      }
    }
    for (auto& column : columns_) {
      const bool is_counted = column.type && column.type->is_counted();
      if (const auto found = is_counted ? counts.find(column.lists[0]) : counts.end();
          found != counts.end()) {
        column.counter = found->second;
      }
    }
  }

  const Schema& schema_;
  std::vector<FieldColumn> columns_;
  std::set<std::string> names_;
};

}  // namespace

std::vector<Representations> columns_of(const Schema& schema, const Field& field) {
  std::map<std::uint16_t, std::vector<std::uint32_t>> by_representation;
  for (const auto column : field.columns) {
    by_representation[schema.columns[column].representation].push_back(column);
  }
  std::vector<Representations> columns;
  for (const auto& [number, of_it] : by_representation) {
    columns.resize(std::max(columns.size(), of_it.size()));
    if (of_it.size() != columns.size()) {
      return {};
    }
    for (std::size_t i = 0; i < of_it.size(); ++i) {
      columns[i].push_back(of_it[i]);
    }
  }
  const auto n = by_representation.size();
  const bool all = std::ranges::all_of(columns, [n](const auto& each) { return each.size() == n; });
  return all ? columns : std::vector<Representations>{};
}

std::vector<FieldColumn> field_columns(const Schema& schema) {
  auto columns = Walk{schema}.all();
  std::erase_if(columns, [](const auto& column) { return is_hidden(column.name); });
  return columns;
}

std::set<std::string> second_names(const Schema& schema) {
  auto renamed = schema;
  const auto shown = [](const std::string& name) { return "\n" + name; };
  for (auto& field : renamed.fields) {
    field.name = field.source ? shown(field.name) : field.name;
  }
  std::map<std::string, FieldColumn> columns;
  for (auto& column : field_columns(renamed)) {
    columns.emplace(column.name, std::move(column));
  }
  std::set<std::string> names;
  for (std::uint32_t number = 0; number < schema.fields.size(); ++number) {
    const auto& field = schema.fields[number];
    const auto own = columns.find(shown(field.name)), found = columns.find(field.name);
    if (field.source && field.parent == number && own != columns.end() && found != columns.end() &&
        found->second.has_same_values_as(own->second)) {
      names.insert(field.name);
    }
  }
  return names;
}

}  // namespace forkrun::rntuple
