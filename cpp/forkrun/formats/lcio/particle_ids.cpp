#include <forkrun/formats/lcio/particle_ids.hpp>

#include <algorithm>
#include <array>
#include <cstring>

namespace forkrun::lcio {

namespace {

constexpr std::string_view ids = "particleIDs.", parameters_part = ".parameters.";
constexpr std::array fields{"likelihood", "type", "pdg"};

/// "LikelihoodPID.pdg" in parts. `parameter`: "" for other members.
struct WhichId {
  std::string_view algorithm, field, parameter;

  explicit WhichId(std::string_view name) {
    const auto at = name.find(parameters_part);
    const auto dot = at == std::string_view::npos ? name.rfind('.') : at;
    algorithm = name.substr(0, dot);
    field = at == std::string_view::npos ? name.substr(dot + 1) : "parameters";
    parameter = at == std::string_view::npos ? "" : name.substr(at + parameters_part.size());
  }
};

const std::vector<std::string_view>* texts(const Parameters& among, std::string_view name) {
  const auto* found = find_parameter(among, name, ElementType::character);
  return found == nullptr ? nullptr : &found->texts;
}

std::ptrdiff_t place_in(const std::vector<std::string_view>* all, std::string_view name) {
  const auto found =
      all == nullptr ? std::ptrdiff_t{-1} : std::ranges::find(*all, name) - all->begin();
  return all != nullptr && found < std::ssize(*all) ? found : -1;
}

/// Number of the algorithm in an event, and index of its parameter; -1: it has none.
struct Numbered {
  bool is_known{};
  std::int32_t algorithm{};
  std::ptrdiff_t parameter = -1;

  Numbered(const Parameters& among, const WhichId& which) {
    const auto at = place_in(texts(among, "PIDAlgorithmTypeName"), which.algorithm);
    const auto* numbers = find_parameter(among, "PIDAlgorithmTypeID", ElementType::int32);
    if (at < 0 || numbers == nullptr ||
        4 * static_cast<std::size_t>(at) >= numbers->numbers.size()) {
      return;
    }
    is_known = true;
    algorithm = big_endian<std::int32_t>(&numbers->numbers[4 * static_cast<std::size_t>(at)]);
    parameter =
        place_in(texts(among, "ParameterNames_" + std::string{which.algorithm}), which.parameter);
  }
};

/// A member of all ids, and their ends by object.
struct IdsOfObjects {
  const Objects* objects{};
  std::span<const std::byte> values;

  IdsOfObjects(EventBlock& events, std::string_view collection, const std::string& member) {
    objects = events.objects(collection, member);
    const auto number = objects == nullptr ? -1 : objects->members().find(member);
    if (objects != nullptr && number < 0) {
      throw InputError("objects of the collection \"" + std::string{collection} + "\" have no " +
                       member);
    }
    if (objects != nullptr) {
      values = objects->values(static_cast<std::size_t>(number)).view();
    }
  }
  [[nodiscard]] std::int32_t at(std::int64_t i) const {
    std::int32_t value = 0;
    std::memcpy(&value, &values[4 * static_cast<std::size_t>(i)], sizeof(value));
    return value;
  }
  [[nodiscard]] const std::vector<std::int64_t>& ends() const {
    const auto list = objects->members().find("particleIDs.pdg");
    return objects->ends(
        static_cast<std::size_t>(objects->members().members[static_cast<std::size_t>(list)].list));
  }
};

}  // namespace

std::vector<std::string> members_for_particle_id(std::string_view name) {
  const WhichId which{name};
  std::vector<std::string> members{std::string{ids} + "algorithm",
                                   std::string{ids} + std::string{which.field}};
  if (!which.parameter.empty()) {
    members.push_back(std::string{ids} + "nParameters");
  }
  return members;
}

std::vector<ColumnDescription> particle_id_columns(std::string_view collection,
                                                   const Parameters& parameters) {
  std::vector<ColumnDescription> columns;
  const auto* names = texts(parameters, "PIDAlgorithmTypeName");
  for (const auto name : names != nullptr ? *names : std::vector<std::string_view>{}) {
    const auto of = std::string{collection} + ".pid." + std::string{name};
    for (const std::string_view field : fields) {
      const auto element = field == "likelihood" ? ElementType::float32 : ElementType::int32;
      columns.push_back({of + "." + std::string{field}, {element, Shape::jagged}});
    }
    const auto* its = texts(parameters, "ParameterNames_" + std::string{name});
    for (const auto each : its != nullptr ? *its : std::vector<std::string_view>{}) {
      columns.push_back({of + std::string{parameters_part} + std::string{each},
                         {ElementType::float32, Shape::jagged}});
    }
  }
  return columns;
}

void fill_particle_ids(EventBlock& events, const ColumnKey& key, Column& into) {
  const WhichId which{key.member};
  const auto needed = members_for_particle_id(key.member);
  const IdsOfObjects algorithms{events, key.collection, needed[0]};
  const IdsOfObjects wanted{events, key.collection, needed[1]};
  if (algorithms.objects == nullptr) {
    return fill_empty(events.size(), into);
  }
  const IdsOfObjects counts{events, key.collection, needed.back()};
  const auto& objects = algorithms.objects->events();
  const auto& ends = algorithms.ends();
  std::ranges::copy(objects, into.resize_offsets(objects.size() - 1).begin());
  auto* to = into.resize_values(static_cast<std::size_t>(objects.back()));
  std::memset(to, 0, 4 * static_cast<std::size_t>(objects.back()));
  std::size_t event = 0;
  std::int64_t first_parameter = 0;  // first parameter of the id
  events.parameters(key.collection, [&](const Parameters& among) {
    const Numbered numbered{among, which};
    for (auto object = objects[event]; object < objects[event + 1]; ++object, to += 4) {
      auto is_found = false;
      for (auto id = ends[static_cast<std::size_t>(object)];
           id < ends[static_cast<std::size_t>(object) + 1]; ++id) {
        const auto n_parameters = which.parameter.empty() ? 0 : counts.at(id);
        const auto is_it =
            numbered.is_known && !is_found && algorithms.at(id) == numbered.algorithm;
        is_found = is_found || is_it;
        const auto at = which.parameter.empty() ? id : first_parameter + numbered.parameter;
        const auto is_there = which.parameter.empty() ||
                              (numbered.parameter >= 0 && numbered.parameter < n_parameters);
        if (is_it && is_there) {
          const auto value = wanted.at(at);
          std::memcpy(to, &value, sizeof(value));
        }
        first_parameter += n_parameters;
      }
    }
    ++event;
  });
}

}  // namespace forkrun::lcio
