#include <forkrun/formats/rntuple/output/kept_schema.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <string_view>
#include <utility>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/rntuple/page_values.hpp>

namespace forkrun::rntuple {

namespace {

constexpr auto left_out = static_cast<std::uint32_t>(-1);

/// Chooses fields of a schema, and makes one of them alone.
class Choice {
 public:
  explicit Choice(const Schema& from) : from_{from}, is_kept_(from.fields.size()) {}

  /// A field, and those that it is in.
  void keep(std::uint32_t field) {
    is_kept_[field] = true;
    if (const auto parent = from_.fields[field].parent; parent != field) {
      keep(parent);
    }
  }
  void keep_subtree(std::uint32_t field) {
    keep(field);
    for (const auto child : from_.fields[field].children) {
      keep_subtree(child);
    }
  }

  Schema made(const std::set<std::string>& taken) {
    complete();
    choose_projected(taken);
    put_fields();
    put_columns();
    made_.class_records = from_.class_records;
    return std::move(made_);
  }

 private:
  [[nodiscard]] const Field& field(std::uint32_t number) const { return from_.fields[number]; }
  [[nodiscard]] bool is_top(std::uint32_t number) const { return field(number).parent == number; }

  [[nodiscard]] bool is_partial(std::uint32_t number) const {
    return is_kept_[number] && !std::ranges::all_of(field(number).children, [&](auto child) {
             return is_kept_[child] || field(child).source;
           });
  }
  /// Whether there can be one of some of its members, without a class.
  [[nodiscard]] bool can_be_open(std::uint32_t number) const {
    const auto role = field(number).role;
    return (role == FieldRole::record || role == FieldRole::collection) &&
           field(number).n_repetitions == 0 &&
           std::ranges::none_of(field(number).children,
                                [&](auto child) { return field(child).name.starts_with(':'); });
  }

  /// Adds all members to fields that need all of them.
  void complete() {
    is_opened_.assign(from_.fields.size(), false);
    for (std::uint32_t number = 0; number < from_.fields.size(); ++number) {
      if (is_partial(number) && !field(number).source) {
        open(number);
      }
    }
  }
  void open(std::uint32_t number) {
    std::optional<std::uint32_t> closed;
    std::vector<std::uint32_t> chain{number};
    while (!is_top(chain.back())) {
      chain.push_back(field(chain.back()).parent);
    }
    for (const auto each : chain) {
      closed = can_be_open(each) ? closed : each;
    }
    if (closed) {
      return keep_subtree(*closed);
    }
    for (const auto each : chain) {
      is_opened_[each] = true;
    }
  }

  [[nodiscard]] bool shows_kept_fields(std::uint32_t number) const {
    return is_kept_[*field(number).source] &&
           std::ranges::all_of(
               field(number).columns,
               [&](auto column) { return is_kept_[from_.columns[column].field]; }) &&
           std::ranges::all_of(field(number).children, [&](auto child) {
             return field(child).source && shows_kept_fields(child);
           });
  }
  void choose_projected(const std::set<std::string>& taken) {
    for (std::uint32_t number = 0; number < from_.fields.size(); ++number) {
      if (!field(number).source) {
        continue;
      }
      const auto parent = field(number).parent;
      if (!is_top(number) && field(parent).source) {
        is_kept_[number] = is_kept_[parent];
      } else {
        is_kept_[number] = shows_kept_fields(number) && !taken.contains(field(number).name) &&
                           (is_top(number) || is_kept_[parent]);
      }
    }
  }

  void put_fields() {
    numbers_.assign(from_.fields.size(), left_out);
    for (std::uint32_t number = 0; number < from_.fields.size(); ++number) {
      if (is_kept_[number]) {
        put_field(number);
      }
    }
    for (auto& put : made_.fields) {
      if (put.source) {
        put.source = numbers_[*put.source];
      }
    }
  }
  void put_field(std::uint32_t number) {
    numbers_[number] = static_cast<std::uint32_t>(made_.fields.size());
    auto put = field(number);
    put.parent = numbers_[put.parent];
    put.children.clear();
    put.columns.clear();
    if (is_opened_[number]) {
      put.type.clear();
      put.alias.clear();
      put.type_checksum.reset();
    }
    if (!is_top(number)) {
      made_.fields[put.parent].children.push_back(numbers_[number]);
    }
    made_.fields.push_back(std::move(put));
  }

  /// Puts the columns of one representation of each field.
  void put_columns() {
    std::vector<std::uint32_t> stored;
    for (std::uint32_t number = 0; number < from_.fields.size(); ++number) {
      if (is_kept_[number] && !field(number).source) {
        const auto columns = columns_of(from_, field(number));
        if (columns.empty() && !field(number).columns.empty()) {
          throw Error("field \"" + path_of(from_, number) +
                      "\" is damaged: its representations have other numbers of columns");
        }
        for (const auto& column : columns) {
          stored.push_back(column.front());
        }
      }
    }
    std::ranges::sort(stored);
    std::vector<std::uint32_t> numbers(from_.columns.size(), left_out);
    for (const auto number : stored) {
      numbers[number] = static_cast<std::uint32_t>(made_.columns.size());
      const auto& column = from_.columns[number];
      made_.columns.push_back({.encoding = column.encoding,
                               .n_bits = column.n_bits,
                               .field = numbers_[column.field],
                               .range = column.range});
    }
    for (std::uint32_t number = 0; number < from_.fields.size(); ++number) {
      for (const auto column : field(number).columns) {
        if (is_kept_[number] && numbers[column] != left_out) {
          made_.fields[numbers_[number]].columns.push_back(numbers[column]);
        }
      }
    }
  }

  const Schema& from_;
  std::vector<bool> is_kept_;
  std::vector<bool> is_opened_;         ///< it has no class any more
  std::vector<std::uint32_t> numbers_;  ///< in what is made
  Schema made_;
};

/// Finds the fields of a schema in that of another file.
class Comparison {
 public:
  Comparison(const Schema& kept, const Schema& other)
      : kept_{kept}, other_{other}, columns_(kept.columns.size()) {
    for (std::uint32_t number = 0; number < other.fields.size(); ++number) {
      if (const auto& field = other.fields[number]; field.parent == number && !field.source) {
        tops_.try_emplace(field.name, number);
      }
    }
  }

  std::vector<Representations> columns() {
    std::vector<std::uint32_t> numbers(kept_.fields.size(), left_out);
    for (std::uint32_t number = 0; number < kept_.fields.size(); ++number) {
      if (!kept_.fields[number].source) {
        numbers[number] = find(number, numbers);
        compare(number, numbers[number]);
      }
    }
    return std::move(columns_);
  }

 private:
  std::uint32_t find(std::uint32_t number, const std::vector<std::uint32_t>& numbers) const {
    const auto& field = kept_.fields[number];
    if (field.parent == number) {
      if (const auto found = tops_.find(field.name); found != tops_.end()) {
        return found->second;
      }
    } else {
      const auto& children = other_.fields[numbers[field.parent]].children;
      const auto found = std::ranges::find_if(children, [&](std::uint32_t each) {
        return other_.fields[each].name == field.name && !other_.fields[each].source;
      });
      if (found != children.end()) {
        return *found;
      }
    }
    throw Error("it has no field \"" + path_of(kept_, number) + "\", which the first file has");
  }

  void compare(std::uint32_t number, std::uint32_t found) {
    const auto& field = kept_.fields[number];
    const auto& other = other_.fields[found];
    auto columns = columns_of(other_, other);
    const bool are_alike =
        field.role == other.role && field.n_repetitions == other.n_repetitions &&
        (field.role != FieldRole::streamed || field.type == other.type) &&
        columns.size() == field.columns.size() &&
        std::ranges::equal(field.columns, columns, [&](auto own, const auto& its) {
          return stored_type(kept_.columns[own]) == stored_type(other_.columns[its.front()]);
        });
    if (!are_alike) {
      throw Error("field \"" + path_of(kept_, number) + "\" is " + described(other_, other) +
                  ", in the first file it is " + described(kept_, field));
    }
    for (std::size_t i = 0; i < columns.size(); ++i) {
      columns_[field.columns[i]] = std::move(columns[i]);
    }
  }

  static std::pair<ElementType, bool> stored_type(const StoredColumn& column) {
    return {element_of(column.encoding), is_index(column.encoding)};
  }
  static std::string described(const Schema& schema, const Field& field) {
    auto text = field.type.empty() ? std::string{"a record"} : field.type;
    for (const auto column : field.columns) {
      text += ", stored as " + ColumnType{element_of(schema.columns[column].encoding)}.name();
    }
    return text;
  }

  const Schema& kept_;
  const Schema& other_;
  std::map<std::string_view, std::uint32_t> tops_;  ///< stored fields of the other, by name
  std::vector<Representations> columns_;
};

/// Whether it is one of the alternatives of a variant, or within one.
bool is_alternative(const Schema& schema, std::uint32_t number) {
  for (; schema.fields[number].parent != number; number = schema.fields[number].parent) {
    if (schema.fields[schema.fields[number].parent].role == FieldRole::variant) {
      return true;
    }
  }
  return false;
}

}  // namespace

Schema kept_schema(const Schema& from, std::span<const FieldColumn* const> columns,
                   const std::set<std::string>& taken) {
  Choice choice{from};
  for (const auto* column : columns) {
    if (!column->type) {
      const auto& source = from.fields[column->field].source;
      choice.keep_subtree(source.value_or(column->field));
      continue;
    }
    auto stored = column->lists;
    stored.push_back(column->values);
    for (const auto number : stored | std::views::join) {
      choice.keep(from.columns[number].field);
    }
  }
  return choice.made(taken);
}

Schema kept_schema(const Schema& from, const std::set<std::string>& taken) {
  Choice choice{from};
  for (std::uint32_t number = 0; number < from.fields.size(); ++number) {
    if (!from.fields[number].source) {
      choice.keep(number);
    }
  }
  return choice.made(taken);
}

std::vector<Representations> stored_columns(const Schema& kept, const Schema& of_file) {
  return Comparison{kept, of_file}.columns();
}

void require_no_others(const Schema& kept, const Schema& of_file) {
  const auto paths_in = [](const Schema& schema) {
    std::set<std::string> paths;
    for (std::uint32_t number = 0; number < schema.fields.size(); ++number) {
      if (!schema.fields[number].source) {
        paths.insert(path_of(schema, number));
      }
    }
    return paths;
  };
  const auto is_own = [](const Field& field) { return !field.source; };
  if (std::ranges::count_if(kept.fields, is_own) == std::ranges::count_if(of_file.fields, is_own)) {
    return;
  }
  const auto known = paths_in(kept);
  for (const auto& path : paths_in(of_file)) {
    if (!known.contains(path)) {
      throw Error("it has a field \"" + path + "\", which the first file has not");
    }
  }
}

std::string path_of(const Schema& schema, std::uint32_t field) {
  const auto& [parent, name] = std::pair{schema.fields[field].parent, schema.fields[field].name};
  return parent == field ? name : path_of(schema, parent) + "." + name;
}

Owner owner_of(const Schema& schema, std::uint32_t column) {
  auto number = schema.columns[column].field;
  Owner owner;
  owner.is_alternative = is_alternative(schema, number);
  if (const auto first = schema.fields[number].columns.front();
      first != column && is_index(schema.columns[first].encoding)) {
    owner.ends = first;  // of characters
    return owner;
  }
  for (bool is_own = true;; is_own = false) {
    const auto& field = schema.fields[number];
    if (!is_own && field.role == FieldRole::collection) {
      owner.ends = field.columns.front();
      return owner;
    }
    if (field.n_repetitions > 0 &&
        __builtin_mul_overflow(owner.n_in_item, field.n_repetitions, &owner.n_in_item)) {
      throw Error("an array has an impossible number of values");
    }
    if (field.parent == number) {
      return owner;
    }
    number = field.parent;
  }
}

std::vector<std::pair<std::string, std::uint32_t>> open_lists(const Schema& schema) {
  std::vector<std::pair<std::string, std::uint32_t>> lists;
  for (std::uint32_t number = 0; number < schema.fields.size(); ++number) {
    const auto& field = schema.fields[number];
    const bool is_list = field.parent == number && field.role == FieldRole::collection &&
                         !field.source && field.type.empty() && field.children.size() == 1;
    if (!is_list) {
      continue;
    }
    const auto& item = schema.fields[field.children[0]];
    if (item.role == FieldRole::record && item.type.empty() && item.n_repetitions == 0) {
      lists.emplace_back("n" + field.name, number);
    }
  }
  for (const auto& field : schema.fields) {
    const auto shown = field.source.value_or(left_out);
    const auto known =
        std::ranges::find(lists, shown, &std::pair<std::string, std::uint32_t>::second);
    if (field.role == FieldRole::leaf && known != lists.end() && field.name != known->first) {
      lists.emplace_back(field.name, shown);
    }
  }
  return lists;
}

}  // namespace forkrun::rntuple
