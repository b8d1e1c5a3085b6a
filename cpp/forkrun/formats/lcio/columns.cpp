#include <forkrun/formats/lcio/columns.hpp>

#include <array>
#include <charconv>
#include <utility>

#include <forkrun/formats/lcio/particle_ids.hpp>

namespace forkrun::lcio {

namespace {

constexpr std::string_view id_suffix = "_collectionID", id_name = "collectionID",
                           parameters_prefix = "parameters.", pid = "pid.", per_lumi = "event/";

constexpr ColumnType one_of(ElementType element) { return {element, Shape::scalar}; }
constexpr ColumnType text{ElementType::character, Shape::jagged};

struct EventColumn {
  std::string_view name;
  ColumnOrigin origin;
  ColumnType type;
};
constexpr std::array of_events{
    EventColumn{"run", ColumnOrigin::run, one_of(ElementType::uint32)},
    EventColumn{"luminosityBlock", ColumnOrigin::lumi, one_of(ElementType::uint32)},
    EventColumn{"event", ColumnOrigin::event, one_of(ElementType::uint64)},
    EventColumn{"timeStamp", ColumnOrigin::time_stamp, one_of(ElementType::int64)},
    EventColumn{"detector", ColumnOrigin::detector, text},
    EventColumn{"weight", ColumnOrigin::weight, one_of(ElementType::float64)},
};

std::string id_column(std::string_view member) {
  return member == "index" ? std::string{id_name} : std::string{member} + std::string{id_suffix};
}

ColumnKey key_of_member(std::string collection, std::string member, ColumnType type) {
  if (member == "daughters") {
    return {ColumnOrigin::daughters, std::move(collection), "parents", type};
  }
  if (member == "daughters_collectionID") {
    return {ColumnOrigin::daughters_collection, std::move(collection), "parents", type};
  }
  if (member == id_name) {
    return {ColumnOrigin::pointer_collection, std::move(collection), "index", type};
  }
  if (member.ends_with(id_suffix)) {
    member.resize(member.size() - id_suffix.size());
    return {ColumnOrigin::pointer_collection, std::move(collection), std::move(member), type};
  }
  return {ColumnOrigin::member, std::move(collection), std::move(member), type};
}

}  // namespace

std::vector<ColumnDescription> event_columns() {
  std::vector<ColumnDescription> columns;
  for (const auto& [name, origin, type] : of_events) {
    columns.push_back({std::string{name}, type});
  }
  return columns;
}

std::vector<ColumnDescription> collection_columns(std::string_view collection, ObjectType type) {
  std::vector<ColumnDescription> columns;
  const auto add = [&](const std::string& member, const ColumnType& of) {
    columns.push_back({std::string{collection} + "." + member, of});
  };
  for (const auto& member : members_of(type).members) {
    const auto of = type_of_member(member);
    add(member.name, of);
    if (member.is_pointer && member.name != "particleIDUsed") {
      add(id_column(member.name), {ElementType::uint32, of.shape});
    }
  }
  if (type == ObjectType::mc_particle) {
    add("daughters", {ElementType::int32, Shape::doubly_jagged});
    add("daughters_collectionID", {ElementType::uint32, Shape::doubly_jagged});
  }
  return columns;
}

ColumnType type_of_member(const Member& member) {
  if (member.element == ElementType::character) {
    return {member.element, Shape::doubly_jagged};
  }
  const auto element = member.is_pointer ? ElementType::int32 : member.element;
  if (member.list >= 0) {
    return {element, Shape::doubly_jagged};
  }
  ColumnType type{element, Shape::jagged};
  type.dimensions[0] = member.n_in_item > 1 ? member.n_in_item : 0;
  return type;
}

ColumnType type_of(const Parameter& parameter) {
  const auto is_text = parameter.type == ElementType::character;
  return {parameter.type, is_text ? Shape::doubly_jagged : Shape::jagged};
}

ColumnKey column_key(const ColumnDescription& column) {
  const auto& [name, type] = column;
  for (const auto& each : of_events) {
    if (each.name == name) {
      return {each.origin, "", "", type};
    }
  }
  if (name.starts_with(per_lumi)) {
    ColumnKey key{ColumnOrigin::lumi, "", "", type};
    const auto* const end = name.data() + name.size();
    const auto [last, error] =
        std::from_chars(name.data() + per_lumi.size(), end, key.events_per_lumi);
    if (error == std::errc{} && last == end && key.events_per_lumi > 0) {
      return key;
    }
  }
  if (name.starts_with(parameters_of_run)) {
    return {ColumnOrigin::run_parameter, "", name.substr(parameters_of_run.size()), type};
  }
  const auto dot = name.find('.');
  if (dot == std::string::npos) {
    throw InputError("unknown column \"" + name + "\"");
  }
  const auto rest = name.substr(dot + 1);
  if (name.starts_with(parameters_prefix)) {
    return {ColumnOrigin::event_parameter, "", rest, type};
  }
  if (rest.starts_with(parameters_prefix)) {
    const auto key = rest.substr(parameters_prefix.size());
    return {ColumnOrigin::collection_parameter, name.substr(0, dot), key, type};
  }
  if (rest.starts_with(pid)) {
    return {ColumnOrigin::particle_id, name.substr(0, dot), rest.substr(pid.size()), type};
  }
  return key_of_member(name.substr(0, dot), rest, type);
}

std::vector<std::string> members_for(const ColumnKey& key) {
  if (key.collection.empty() || key.origin == ColumnOrigin::collection_parameter) {
    return {};
  }
  return key.origin == ColumnOrigin::particle_id ? members_for_particle_id(key.member)
                                                 : std::vector{key.member};
}

EventId id_of(const EventHeader& header, std::uint32_t events_per_lumi) {
  if (header.run < 0 || header.event < 0) {
    throw InputError("event " + std::to_string(header.event) + " of run " +
                     std::to_string(header.run) + ": numbers below 0 are not read");
  }
  const auto event = static_cast<std::uint64_t>(header.event);
  const auto lumi = events_per_lumi == 0 ? 0 : event / events_per_lumi;
  return {static_cast<std::uint32_t>(header.run), static_cast<std::uint32_t>(lumi + 1), event};
}

}  // namespace forkrun::lcio
