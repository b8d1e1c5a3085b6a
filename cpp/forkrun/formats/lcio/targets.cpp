#include <bit>
#include <string>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/lcio/event_block.hpp>

namespace forkrun::lcio {

namespace {

bool can_be_pointed_at(ObjectType type) {
  return type != ObjectType::reference && type != ObjectType::relation && type != ObjectType::none;
}

}  // namespace

std::uint32_t id_of(std::string_view collection) {
  std::uint32_t hash = 0;
  for (std::size_t at = 0; at < collection.size(); at += 4) {
    const auto part = collection.substr(at, 4);
    std::uint32_t key = 0;
    for (std::size_t i = 0; i < part.size(); ++i) {
      key |= std::uint32_t{static_cast<unsigned char>(part[i])} << 8U * i;
    }
    hash ^= std::rotl(key * 0xCC9E2D51U, 15) * 0x1B873593U;
    if (part.size() == 4) {
      hash = std::rotl(hash, 13) * 5U + 0xE6546B64U;
    }
  }
  hash ^= static_cast<std::uint32_t>(collection.size());
  hash = (hash ^ hash >> 16U) * 0x85EBCA6BU;
  hash = (hash ^ hash >> 13U) * 0xC2B2AE35U;
  return hash ^ hash >> 16U;
}

void EventBlock::find_targets() {
  const std::lock_guard lock{targets_mutex_};
  if (has_targets_) {
    return;
  }
  std::vector<std::pair<std::uint32_t, const Objects*>> all;
  for (const auto name : names_) {
    if (can_be_pointed_at(type_of(name))) {
      all.emplace_back(id_of(name), objects(name, ""));
    }
  }
  targets_.clear();
  targets_begin_.assign(1, 0);
  for (std::size_t event = 0; event < events_.size(); ++event) {
    try {
      add_targets(event, all);
    } catch (...) {
      rethrow_with_context(where(event));
    }
    targets_begin_.push_back(targets_.size());
  }
  has_targets_ = true;
}

/// Numbers are those of objects in pointers, from 1 on; of several objects with one number the
/// first has it.
void EventBlock::add_targets(std::size_t event,
                             const std::vector<std::pair<std::uint32_t, const Objects*>>& all) {
  const auto begin = targets_.size();
  const auto most = events_[event].data.size() / 4;
  const auto add = [&](std::uint32_t tag, Target target) {
    if (tag == no_tag || tag == 0) {
      return;
    }
    if (tag >= targets_.size() - begin) {
      if (tag > most) {
        throw InputError("an object has the number " + std::to_string(tag) +
                         ", more than the event can have objects");
      }
      targets_.resize(begin + tag + 1);
    }
    if (auto& known = targets_[begin + tag]; known.index < 0) {
      known = target;
    }
  };
  for (const auto& [id, objects] : all) {
    const auto first = static_cast<std::size_t>(objects->events()[event]);
    const auto n = static_cast<std::size_t>(objects->events()[event + 1]) - first;
    const auto tags = std::span{objects->tags()}.subspan(first, n);
    for (std::size_t i = 0; i < n; ++i) {
      add(tags[i], {id, static_cast<std::int32_t>(i)});
    }
    for (const auto& inner : objects->inner_tags(event)) {
      add(inner.tag, {id, static_cast<std::int32_t>(inner.index)});
    }
  }
}

}  // namespace forkrun::lcio
