#include <forkrun/formats/lcio/new_columns.hpp>

#include <functional>
#include <string_view>
#include <utility>

namespace forkrun::lcio {

namespace {

constexpr std::string_view of_doubles = "LCGenericObject";

bool is_list(const ColumnType& type) { return type.n_levels() > (type.is_text() ? 1U : 0U); }

ElementType stored_as(ElementType element) {
  const bool is_itself = element == ElementType::float32 || element == ElementType::float64 ||
                         element == ElementType::character;
  return is_itself ? element : ElementType::int32;
}

std::string collection_of(const ColumnType& type) {
  if (!is_list(type)) {
    return {};
  }
  switch (stored_as(type.element)) {
    case ElementType::float32: return "LCFloatVec";
    case ElementType::float64: return std::string{of_doubles};
    case ElementType::character: return "LCStrVec";
    default: return "LCIntVec";
  }
}

template <typename T, typename As = T>
void add_values(const Column& column, EntryRun values, Written& to) {
  for (auto i = values.first; i < values.last; ++i) {
    to.add(static_cast<As>(column.values<T>()[static_cast<std::size_t>(i)]));
  }
}

void add_numbers(const Column& column, EntryRun values, Written& to) {
  switch (column.type().element) {
    case ElementType::boolean: return add_values<bool, std::int32_t>(column, values, to);
    case ElementType::int8: return add_values<std::int8_t, std::int32_t>(column, values, to);
    case ElementType::uint8: return add_values<std::uint8_t, std::int32_t>(column, values, to);
    case ElementType::int16: return add_values<std::int16_t, std::int32_t>(column, values, to);
    case ElementType::uint16: return add_values<std::uint16_t, std::int32_t>(column, values, to);
    case ElementType::float32: return add_values<float>(column, values, to);
    case ElementType::float64: return add_values<double>(column, values, to);
    default: return add_values<std::int32_t>(column, values, to);
  }
}

/// Counts of the inner items of each list of a level.
EntryRun within(const Column& column, std::size_t level, EntryRun lists) {
  const auto offsets = column.offsets(level);
  return {offsets[static_cast<std::size_t>(lists.first)],
          offsets[static_cast<std::size_t>(lists.last)]};
}

std::string_view text_at(const Column& column, std::int64_t number) {
  const auto run = within(column, column.type().n_levels() - 1, {number, number + 1});
  return text_of(column.values<char>().subspan(static_cast<std::size_t>(run.first),
                                               static_cast<std::size_t>(run.last - run.first)));
}

/// A vector, as an object of its collection.
void add_object(const Column& column, std::string_view collection, EntryRun items, Written& to) {
  constexpr std::uint32_t nobody = 0xFFFFFFFF;
  if (collection == of_doubles) {
    to.count(0).count(0);  // integers, and reals of 4 bytes
  }
  to.count(static_cast<std::size_t>(items.last - items.first));
  if (column.type().is_text()) {
    for (auto i = items.first; i < items.last; ++i) {
      to.text(text_at(column, i));
    }
  } else {
    add_numbers(column, items, to);
  }
  to.add(nobody);
}

/// A collection with one vector, or one for each inner list.
void add_block(const std::string& name, const Column& column, std::string_view collection,
               std::int64_t event, Written& to) {
  constexpr int n_kinds_of_parameters = 4;
  Written content;
  content.count(0);  // flag
  for (int i = 0; i < n_kinds_of_parameters; ++i) {
    content.count(0);
  }
  const auto items = within(column, 0, {event, event + 1});
  if (column.type().n_levels() == 2 && !column.type().is_text()) {
    content.count(static_cast<std::size_t>(items.last - items.first));
    for (auto i = items.first; i < items.last; ++i) {
      add_object(column, collection, within(column, 1, {i, i + 1}), content);
    }
  } else {
    content.count(1);
    add_object(column, collection, items, content);
  }
  to.block(name, written_version, content.view());
}

}  // namespace

NewColumns::NewColumns(const std::vector<ColumnDescription>& columns) {
  for (const auto& [name, type] : columns) {
    columns_.push_back({name, collection_of(type), Column{type}});
  }
  forget();
}

void NewColumns::forget() {
  for (auto& column : columns_) {
    column.values = Column{column.values.type()};
  }
}

void NewColumns::add(std::span<const NewValues> values) {
  for (const auto& [columns, events] : values) {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      columns_[i].values.append((*columns)[i], static_cast<std::size_t>(events.first),
                                static_cast<std::size_t>(events.last));
    }
  }
}

Additions NewColumns::of_event(std::size_t i) const {
  Additions found;
  const auto event = static_cast<std::int64_t>(i);
  for (const auto& [name, collection, values] : columns_) {
    const auto type = values.type();
    if (!collection.empty()) {
      found.added.collections.push_back({name, collection, false});
      add_block(name, values, collection, event, found.blocks);
    } else if (type.is_text()) {
      found.added.parameters.push_back(
          {name, ElementType::character, {}, {text_at(values, event)}});
    } else {
      const auto n = static_cast<std::int64_t>(type.n_in_item());
      auto& numbers = found.numbers.emplace_back();
      add_numbers(values, {event * n, (event + 1) * n}, numbers);
      found.added.parameters.push_back({name, stored_as(type.element), numbers.view(), {}});
    }
  }
  found.added.blocks = found.blocks.view();
  return found;
}

}  // namespace forkrun::lcio
