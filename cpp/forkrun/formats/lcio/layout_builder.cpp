#include <forkrun/formats/lcio/layout_builder.hpp>

#include <algorithm>
#include <array>

namespace forkrun::lcio {

std::int32_t Members::find(std::string_view name) const {
  const auto found = std::ranges::find(members, name, &Member::name);
  return found == members.end() ? -1 : static_cast<std::int32_t>(found - members.begin());
}

/// Number of the member of this name in the described list; a new one at its first occurrence.
std::int32_t LayoutBuilder::member(std::string_view name, Member of) {
  of.name = prefix_ + std::string{name};
  if (of.name.ends_with('.')) {
    of.name.pop_back();
  }
  of.list = list_;
  auto number = members_.find(of.name);
  if (number < 0) {
    number = static_cast<std::int32_t>(members_.members.size());
    members_.members.push_back(std::move(of));
  }
  return number;
}

/// Lists are numbered in the order of the description of all versions, and found again by a member.
std::int32_t LayoutBuilder::list_of(std::string_view name) {
  if (!knows_all_) {
    const auto full = prefix_ + std::string{name};
    const auto found = std::ranges::find_if(members_.members, [&](const auto& each) {
      return each.list >= 0 && (each.name == full || each.name.starts_with(full + "."));
    });
    return found->list;
  }
  return static_cast<std::int32_t>(members_.n_lists++);
}

void LayoutBuilder::fixed(Step step, std::int32_t which, std::uint16_t n, std::size_t n_bytes) {
  if (room_ < 0) {
    room_ = static_cast<std::int64_t>(layout_.actions.size());
    const auto number = static_cast<std::int16_t>(layout_.n_rooms++);
    layout_.actions.push_back({Step::room, number, 0, 0, -1});
  }
  auto& room = layout_.actions[static_cast<std::size_t>(room_)];
  if (step == Step::kept_word) {
    room.count = static_cast<std::int8_t>(room.n / 4);
  }
  ++room.n_steps;
  room.n = static_cast<std::uint16_t>(room.n + n_bytes);
  layout_.actions.push_back({step, static_cast<std::int16_t>(which), n, 0, -1});
}

LayoutBuilder& LayoutBuilder::words(std::string_view name, ElementType element, std::uint16_t n,
                                    std::uint32_t if_absent) {
  fixed(Step::words, member(name, {{}, element, n, -1, false, if_absent}), n, std::size_t{4} * n);
  return *this;
}

LayoutBuilder& LayoutBuilder::axes(std::string_view name, ElementType element) {
  const auto is_double = element == ElementType::float64;
  for (const auto* axis : {".x", ".y", ".z"}) {
    fixed(is_double ? Step::doubles : Step::words,
          member(std::string{name} + axis, {{}, element, 1, -1, false, 0}), 1, is_double ? 8 : 4);
  }
  return *this;
}

LayoutBuilder& LayoutBuilder::pointer(std::string_view name) {
  fixed(Step::words, member(name, {{}, ElementType::uint32, 1, -1, true, 0}), 1, 4);
  return *this;
}

LayoutBuilder& LayoutBuilder::tag() {
  fixed(list_ < 0 ? Step::tag : Step::inner_tag, -1, 1, 4);
  return *this;
}

LayoutBuilder& LayoutBuilder::flag(std::string_view name) {
  fixed(Step::flag, member(name, {{}, ElementType::int32, 1, -1, false, 0}), 1, 4);
  return *this;
}

LayoutBuilder& LayoutBuilder::kept_integer(std::string_view name) {
  fixed(Step::kept_word, member(name, {{}, ElementType::int32, 1, -1, false, 0}), 1, 4);
  return *this;
}

LayoutBuilder& LayoutBuilder::skip(std::uint16_t n_words) {
  fixed(Step::words, -1, n_words, std::size_t{4} * n_words);
  return *this;
}

std::size_t LayoutBuilder::begin_list(std::string_view name, std::uint16_t n) {
  end_room();
  list_ = list_of(name);
  const auto place = layout_.actions.size();
  layout_.actions.push_back({Step::list, static_cast<std::int16_t>(list_), n, 0, next_count_});
  return place;
}

/// All its values in an object are one list; the count of each item is a member.
std::size_t LayoutBuilder::begin_inner_list(std::string_view name) {
  const auto counts = member("nParameters", {{}, ElementType::int32, 1, -1, false, 0});
  end_room();
  list_ = list_of(name);
  const auto place = layout_.actions.size();
  layout_.actions.push_back({Step::inner_list, static_cast<std::int16_t>(counts),
                             static_cast<std::uint16_t>(list_), 0, -1});
  return place;
}

void LayoutBuilder::close(std::size_t place) {
  end_room();
  layout_.actions[place].n_steps = static_cast<std::uint16_t>(layout_.actions.size() - place - 1);
}

LayoutBuilder& LayoutBuilder::numbers(std::string_view name, ElementType element, std::size_t size,
                                      std::uint16_t n, std::int8_t count) {
  next_count_ = count;
  list(
      name,
      [&] {
        const auto which = member("", {{}, element, 1, -1, false, 0});
        fixed(size == 8 ? Step::doubles : Step::words, which, 1, size);
      },
      n);
  next_count_ = -1;
  return *this;
}

LayoutBuilder& LayoutBuilder::pointers(std::string_view name) {
  return list(name, [&] { pointer(""); });
}

LayoutBuilder& LayoutBuilder::packed(std::string_view name, Step step, ElementType element) {
  const auto place = begin_list(name, 0);
  const auto which = member(name, {{}, element, 1, -1, false, 0});
  layout_.actions[place] = {step, static_cast<std::int16_t>(which), 0, 0, -1};
  list_ = -1;
  return *this;
}

LayoutBuilder& LayoutBuilder::shorts(std::string_view name) {
  return packed(name, Step::shorts, ElementType::int16);
}

LayoutBuilder& LayoutBuilder::texts(std::string_view name) {
  return packed(name, Step::texts, ElementType::character);
}

LayoutBuilder& LayoutBuilder::three_lists(bool are_before_objects) {
  layout_.has_head_counts = are_before_objects;
  if (!are_before_objects) {
    end_room();
    layout_.actions.push_back({Step::three_counts, -1, 0, 0, -1});
  }
  numbers("ints", ElementType::int32, 4, 0, 0);
  numbers("floats", ElementType::float32, 4, 0, 1);
  return numbers("doubles", ElementType::float64, 8, 0, 2);
}

Layout LayoutBuilder::finish() {
  const auto& actions = layout_.actions;
  for (std::size_t i = 0; i < actions.size(); ++i) {
    if (actions[i].step == Step::inner_list) {  // its number follows its room
      layout_.inner_lists.push_back({actions[i + 2].which, actions[i].n});
    }
  }
  const auto is_fixed = std::ranges::all_of(actions, [](const auto& action) {
    return action.step <= Step::doubles || action.step == Step::kept_word ||
           action.step == Step::tag;
  });
  layout_.n_fixed = is_fixed && !actions.empty() ? actions.front().n : 0;
  return std::move(layout_);
}

}  // namespace forkrun::lcio
