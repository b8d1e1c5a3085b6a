#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <forkrun/formats/lcio/columns.hpp>
#include <forkrun/formats/lcio/event_block.hpp>
#include <forkrun/formats/lcio/particle_ids.hpp>

namespace forkrun::lcio {

namespace {

/// Daughters of the particles of a collection, which are stored with their parents: the daughters
/// of each particle in the order of their indices, over all collections of particles of its event.
struct Daughters {
  std::vector<std::int64_t> ends{0};  ///< of each particle's daughters; begins with 0
  std::vector<Target> daughters;
};

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

/// Parents, in the collection `of`, of the particles of a collection.
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

/// Needs `find_targets` of the events.
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

template <typename T>
void copy(const std::vector<T>& from, std::span<T> to) {
  std::ranges::copy(from, to.begin());
}

/// One value for each event.
template <typename T, typename Value>
void fill_scalars(const EventBlock& events, Column& into, const Value& value) {
  const auto values = into.fill_scalar<T>(events.size());
  for (std::size_t event = 0; event < events.size(); ++event) {
    values[event] = static_cast<T>(value(event));
  }
}

/// One text for each event.
void fill_detectors(const EventBlock& events, Column& into) {
  const auto offsets = into.resize_offsets(events.size());
  offsets[0] = 0;
  for (std::size_t event = 0; event < events.size(); ++event) {
    offsets[event + 1] = offsets[event] + std::ssize(events.header(event).detector);
  }
  auto* to = into.resize_values(static_cast<std::size_t>(offsets[events.size()]));
  for (std::size_t event = 0; event < events.size(); ++event) {
    const auto text = events.header(event).detector;
    std::memcpy(to + offsets[event], text.data(), text.size());
  }
}

/// Values of a parameter, event after event.
class ParameterValues {
 public:
  explicit ParameterValues(const ColumnKey& key) : key_{key}, size_{size_of(key.type.element)} {}

  void add(const Parameters& among) {
    const auto* found = find_parameter(among, key_.member, key_.type.element);
    if (found != nullptr && key_.type.is_text()) {
      for (const auto text : found->texts) {
        const auto characters = std::as_bytes(std::span{text});
        values_.insert(values_.end(), characters.begin(), characters.end());
        text_ends_.push_back(std::ssize(values_));
      }
    } else if (found != nullptr && !found->numbers.empty()) {
      const auto begin = values_.size();
      values_.resize(begin + found->numbers.size());
      swap_copy(&values_[begin], found->numbers.data(), found->numbers.size() / size_, size_);
    }
    ends_.push_back(key_.type.is_text() ? std::ssize(text_ends_) - 1
                                        : static_cast<std::int64_t>(values_.size() / size_));
  }

  void take(Column& into) const {
    copy(ends_, into.resize_offsets(ends_.size() - 1));
    if (key_.type.is_text()) {
      copy(text_ends_, into.resize_offsets(text_ends_.size() - 1, 1));
    }
    std::ranges::copy(values_, into.resize_values(values_.size() / size_));
  }

 private:
  const ColumnKey& key_;
  std::size_t size_;
  std::vector<std::byte> values_;
  std::vector<std::int64_t> ends_{0}, text_ends_{0};
};

void fill_parameters_of(EventBlock& events, const ColumnKey& key, Column& into) {
  ParameterValues values{key};
  if (key.origin == ColumnOrigin::run_parameter) {
    const Parameters nothing;
    for (std::size_t event = 0; event < events.size(); ++event) {
      const auto* run = events.run_header(event);
      values.add(run != nullptr ? run->parameters : nothing);
    }
  } else if (key.origin == ColumnOrigin::event_parameter) {
    for (std::size_t event = 0; event < events.size(); ++event) {
      values.add(events.header(event).parameters);
    }
  } else {
    events.parameters(key.collection, [&](const Parameters& among) { values.add(among); });
  }
  values.take(into);
}

/// Offsets of the events' objects and of their lists.
void fill_offsets(const Objects& objects, const Member& member, Column& into) {
  const auto& events = objects.events();
  if (member.list < 0) {
    return copy(events, into.resize_offsets(events.size() - 1));
  }
  const auto& ends = objects.ends(static_cast<std::size_t>(member.list));
  if (member.element == ElementType::character) {  // the texts of all objects of an event
    const auto offsets = into.resize_offsets(events.size() - 1);
    std::ranges::transform(events, offsets.begin(),
                           [&](auto object) { return ends[static_cast<std::size_t>(object)]; });
    return copy(objects.text_ends(), into.resize_offsets(objects.text_ends().size() - 1, 1));
  }
  copy(events, into.resize_offsets(events.size() - 1));
  const auto inner = into.resize_offsets(ends.size() - 1, 1);
  if (member.n_in_item == 1) {
    return copy(ends, inner);
  }
  std::ranges::transform(ends, inner.begin(), [&](auto end) { return end * member.n_in_item; });
}

void fill_values(const Objects& objects, std::size_t member, Column& into) {
  fill_offsets(objects, objects.members().members[member], into);
  const auto values = objects.values(member).view();
  auto* to = into.resize_values(values.size() / size_of(into.type().element));
  if (!values.empty()) {
    std::memcpy(to, values.data(), values.size());
  }
}

}  // namespace

void fill_empty(std::size_t n_events, Column& into) {
  std::ranges::fill(into.resize_offsets(n_events), 0);
  if (into.type().shape == Shape::doubly_jagged) {
    into.resize_offsets(0, 1)[0] = 0;
  }
  (void)into.resize_values(0);
}

namespace {

/// Targets of pointers of an event. `from`, `to`: `n` of 4 bytes.
template <typename T>
void look_up(std::span<const Target> targets, const std::byte* from, std::size_t n, std::byte* to,
             T Target::* part) {
  for (std::size_t i = 0; i < n; ++i) {
    std::uint32_t number = 0;
    std::memcpy(&number, from + 4 * i, sizeof(number));
    const auto value = (number < targets.size() ? targets[number] : Target{}).*part;
    std::memcpy(to + 4 * i, &value, sizeof(value));
  }
}

/// Meaning of a pointer's number: index or collection.
void fill_pointers(EventBlock& events, const Objects& objects, std::size_t member,
                   const ColumnKey& key, Column& into) {
  events.find_targets();
  const auto& of = objects.members().members[member];
  fill_offsets(objects, of, into);
  const auto numbers = objects.values(member).view();
  const auto n = numbers.size() / 4;
  auto* to = into.resize_values(n);
  const auto* from = numbers.data();
  const auto is_collection = key.origin == ColumnOrigin::pointer_collection;
  std::size_t at = 0;
  for (std::size_t event = 0; event < events.size(); ++event) {
    const auto object = static_cast<std::size_t>(objects.events()[event + 1]);
    const auto end =
        of.list < 0
            ? object
            : static_cast<std::size_t>(objects.ends(static_cast<std::size_t>(of.list))[object]);
    const auto n_here = end - std::exchange(at, end);
    is_collection ? look_up(events.targets(event), from, n_here, to, &Target::collection)
                  : look_up(events.targets(event), from, n_here, to, &Target::index);
    from += 4 * n_here;
    to += 4 * n_here;
  }
}

void fill_daughters(EventBlock& events, const Objects& objects, const ColumnKey& key,
                    Column& into) {
  events.find_targets();
  const auto found = find_daughters(events, key.collection);
  copy(objects.events(), into.resize_offsets(objects.events().size() - 1));
  copy(found.ends, into.resize_offsets(found.ends.size() - 1, 1));
  auto* to = into.resize_values(found.daughters.size());
  for (const auto& daughter : found.daughters) {
    const auto value = key.origin == ColumnOrigin::daughters_collection
                           ? daughter.collection
                           : static_cast<std::uint32_t>(daughter.index);
    std::memcpy(to, &value, sizeof(value));
    to += sizeof(value);
  }
}

/// Columns of members stored with each object.
void fill_stored(EventBlock& events, const Objects& objects, std::size_t member,
                 const ColumnKey& key, Column& into) {
  const auto& of = objects.members().members[member];
  const auto is_id = key.origin == ColumnOrigin::pointer_collection;
  auto type = type_of_member(of);
  type.element = is_id ? ElementType::uint32 : type.element;
  if (type != key.type || (is_id && !of.is_pointer)) {
    throw InputError(events.where(0) + ": \"" + key.collection + "." + key.member + "\" is " +
                     type.name() + " in this file, not " + key.type.name());
  }
  of.is_pointer ? fill_pointers(events, objects, member, key, into)
                : fill_values(objects, member, into);
}

void fill_members(EventBlock& events, const ColumnKey& key, Column& into) {
  const auto* objects = events.objects(key.collection, key.member);
  if (objects == nullptr) {
    return fill_empty(events.size(), into);
  }
  const auto number = objects->members().find(key.member);
  if (number < 0) {
    throw InputError(events.where(0) + ": objects of the collection \"" + key.collection +
                     "\" have no member \"" + key.member + "\" in this file");
  }
  if (key.origin == ColumnOrigin::daughters || key.origin == ColumnOrigin::daughters_collection) {
    fill_daughters(events, *objects, key, into);
  } else {
    fill_stored(events, *objects, static_cast<std::size_t>(number), key, into);
  }
}

}  // namespace

void fill(EventBlock& events, const ColumnKey& key, Column& into) {
  into.reset(key.type);
  const auto header = [&](std::size_t event) -> const EventHeader& { return events.header(event); };
  const auto id = [&](std::size_t event) { return id_of(header(event), key.events_per_lumi); };
  switch (key.origin) {
    case ColumnOrigin::run:
      return fill_scalars<std::uint32_t>(events, into, [&](auto i) { return id(i).run; });
    case ColumnOrigin::lumi:
      return fill_scalars<std::uint32_t>(events, into, [&](auto i) { return id(i).lumi; });
    case ColumnOrigin::event:
      return fill_scalars<std::uint64_t>(events, into, [&](auto i) { return id(i).event; });
    case ColumnOrigin::time_stamp:
      return fill_scalars<std::int64_t>(events, into, [&](auto i) { return header(i).time_stamp; });
    case ColumnOrigin::weight:
      return fill_scalars<double>(events, into, [&](auto i) { return header(i).weight(); });
    case ColumnOrigin::detector: return fill_detectors(events, into);
    case ColumnOrigin::particle_id: return fill_particle_ids(events, key, into);
    case ColumnOrigin::run_parameter:
    case ColumnOrigin::event_parameter:
    case ColumnOrigin::collection_parameter: return fill_parameters_of(events, key, into);
    default: return fill_members(events, key, into);
  }
}

}  // namespace forkrun::lcio
