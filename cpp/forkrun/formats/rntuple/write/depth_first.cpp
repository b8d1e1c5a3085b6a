#include <forkrun/formats/rntuple/write/depth_first.hpp>

namespace forkrun::rntuple {

namespace {

void put_in_order(const Schema& schema, std::uint32_t field, std::vector<std::uint32_t>& order) {
  order.push_back(field);
  for (const auto child : schema.fields[field].children) {
    put_in_order(schema, child, order);
  }
}

std::vector<std::uint32_t> fields_in_order(const Schema& schema) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t field = 0; field < schema.fields.size(); ++field) {
    if (schema.fields[field].parent == field) {
      put_in_order(schema, field, order);
    }
  }
  return order;
}

/// Of each element, where it is in an order.
std::vector<std::uint32_t> places_in(const std::vector<std::uint32_t>& order) {
  std::vector<std::uint32_t> places(order.size());
  for (std::uint32_t place = 0; place < order.size(); ++place) {
    places[order[place]] = place;
  }
  return places;
}

void renumber(std::vector<std::uint32_t>& numbers, const std::vector<std::uint32_t>& places) {
  for (auto& number : numbers) {
    number = places[number];
  }
}

}  // namespace

Renumbered depth_first(const Schema& schema) {
  const auto fields = fields_in_order(schema);
  const auto field_places = places_in(fields);
  std::vector<std::uint32_t> columns;
  for (const auto field : fields) {
    if (!schema.fields[field].source) {
      const auto& own = schema.fields[field].columns;
      columns.insert(columns.end(), own.begin(), own.end());
    }
  }
  Renumbered made{{}, places_in(columns)};
  made.schema.class_records = schema.class_records;
  for (const auto number : fields) {
    auto field = schema.fields[number];
    field.parent = field_places[field.parent];
    renumber(field.children, field_places);
    renumber(field.columns, made.columns);
    if (field.source) {
      field.source = field_places[*field.source];
    }
    made.schema.fields.push_back(std::move(field));
  }
  for (const auto number : columns) {
    auto column = schema.columns[number];
    column.field = field_places[column.field];
    made.schema.columns.push_back(column);
  }
  return made;
}

}  // namespace forkrun::rntuple
