#include <forkrun/formats/lcio/daughters.hpp>

#include <algorithm>
#include <cstring>

namespace forkrun::lcio {

namespace {

struct Particles {
  std::uint32_t id{};
  const Objects* objects{};
  std::size_t parents{};  ///< number of the member
};

std::vector<Particles> collections_of_particles(EventBlock& events) {
  std::vector<Particles> found;
  const auto parents = members_of(ObjectType::mc_particle).find("parents");
  for (const auto name : events.collections()) {
    const auto* objects = events.objects(name, "parents");
    if (objects != nullptr && objects->type() == ObjectType::mc_particle) {
      found.push_back({id_of(name), objects, static_cast<std::size_t>(parents)});
    }
  }
  return found;
}

struct Birth {
  std::int64_t mother{};  ///< its place among all particles of the block
  Target daughter;
};

/// What the particles of a collection say of parents in the collection `of`.
void add_births(EventBlock& events, const Particles& particles, const Particles& of,
                std::size_t event, std::vector<Birth>& to) {
  const auto& at = particles.objects->events();
  const auto& ends = particles.objects->ends(
      static_cast<std::size_t>(particles.objects->members().members[particles.parents].list));
  const auto* numbers = particles.objects->values(particles.parents).view().data();
  const auto first_mother = of.objects->events()[event];
  for (auto i = at[event]; i < at[event + 1]; ++i) {
    for (auto k = ends[static_cast<std::size_t>(i)]; k < ends[static_cast<std::size_t>(i) + 1];
         ++k) {
      std::uint32_t number = 0;
      std::memcpy(&number, numbers + 4 * k, sizeof(number));
      const auto mother = events.target(event, number);
      if (mother.index >= 0 && mother.collection == of.id) {
        to.push_back({first_mother + mother.index,
                      {particles.id, static_cast<std::int32_t>(i - at[event])}});
      }
    }
  }
}

}  // namespace

Daughters find_daughters(EventBlock& events, std::string_view collection) {
  Daughters found;
  const auto all = collections_of_particles(events);
  const auto own = std::ranges::find(all, id_of(collection), &Particles::id);
  if (own == all.end()) {
    return found;
  }
  std::vector<Birth> births;
  for (std::size_t event = 0; event < events.size(); ++event) {
    for (const auto& particles : all) {
      add_births(events, particles, *own, event, births);
    }
  }
  std::ranges::stable_sort(births, {}, &Birth::mother);
  const auto n_particles = own->objects->events().back();
  auto birth = births.begin();
  for (std::int64_t mother = 0; mother < n_particles; ++mother) {
    for (; birth != births.end() && birth->mother == mother; ++birth) {
      found.daughters.push_back(birth->daughter);
    }
    found.ends.push_back(std::ssize(found.daughters));
  }
  return found;
}

}  // namespace forkrun::lcio
