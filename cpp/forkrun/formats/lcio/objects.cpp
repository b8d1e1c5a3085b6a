#include <forkrun/formats/lcio/objects.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include <forkrun/bytes/big_endian.hpp>
#include <forkrun/core/data/counted.hpp>
#include <forkrun/formats/lcio/cursor.hpp>

namespace forkrun::lcio {

namespace {

template <typename T>
void swap_into(std::byte* to, const std::byte* from, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const auto value = big_endian<T>(from + i * sizeof(T));
    std::memcpy(to + i * sizeof(T), &value, sizeof(T));
  }
}

/// For objects of one size: the bytes at one offset in each.
template <typename T>
void swap_every(std::byte* to, const std::byte* from, std::size_t n, std::size_t stride) {
  for (std::size_t i = 0; i < n; ++i) {
    const auto value = big_endian<T>(from + i * stride);
    std::memcpy(to + i * sizeof(T), &value, sizeof(T));
  }
}

/// For others: the bytes at an offset from each of these places.
template <typename T>
void swap_at_places(std::byte* to, std::span<const std::byte* const> places, std::size_t offset) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto value = big_endian<T>(places[i] + offset);
    std::memcpy(to + i * sizeof(T), &value, sizeof(T));
  }
}

std::size_t width_of(const Action& action) {
  return action.step == Step::doubles ? sizeof(std::uint64_t) : sizeof(std::uint32_t);
}

/// Value for a missing member.
constexpr std::array<std::byte, 64> zeros{};

}  // namespace

/// Decodes the objects of one event by their layout. Objects of different sizes are scanned first,
/// to find the places of their parts; then each member is copied for all of them.
class ObjectDecoder {
 public:
  ObjectDecoder(Objects& to, Cursor& from) : to_{to}, from_{from} {}

  void decode(std::size_t n_objects) {
    n_objects_ = n_objects;
    to_.inner_tags_.emplace_back();
    const std::span<const Action> actions{to_.layout_.actions};
    if (to_.layout_.n_fixed > 0) {
      decode_fixed(actions);
    } else {
      find_parts(actions);
      take_parts(actions);
    }
    to_.events_.push_back(to_.events_.back() + static_cast<std::int64_t>(n_objects));
    fill_absent();
  }

  void set_counts(const std::array<std::size_t, 3>& counts) { counts_ = counts; }

 private:
  void decode_fixed(std::span<const Action> actions);
  void find_parts(std::span<const Action> actions);
  void take_parts(std::span<const Action> actions);
  void take(const Action& action, std::span<const std::byte* const> places, std::size_t offset);
  void take_inner_tags(std::size_t list, std::span<const std::byte* const> places,
                       std::size_t offset);
  void run(std::span<const Action> actions);
  void read_list(const Action& action, std::span<const Action> of_item);
  void read_inner_list(const Action& action, std::span<const Action> of_item);
  void read_items(std::size_t n, std::span<const Action> of_item);
  void read_rooms(std::size_t n, const Action& room);
  [[noreturn]] void throw_too_many(std::size_t n) const;
  void read_shorts(const Action& action);
  void read_texts(const Action& action);
  void keep_words(const Action& action, const std::byte* from);
  void pass_over(std::span<const Action> actions);
  void end_object();
  void fill_absent();
  void fill(std::size_t member, std::size_t n_items);

  Objects& to_;
  Cursor& from_;
  std::size_t n_objects_{};
  std::array<std::size_t, 3> counts_{};
  std::uint32_t kept_{};
};

void ObjectDecoder::decode_fixed(std::span<const Action> actions) {
  const auto stride = to_.layout_.n_fixed;
  if (n_objects_ > from_.n_left() / stride) {
    throw InputError("it ends before the last of its " + counted(n_objects_, "object"));
  }
  const auto* at = from_.take(n_objects_ * stride);
  for (const auto& action : actions.subspan(1)) {
    const auto width = action.step == Step::doubles ? std::size_t{8} : std::size_t{4};
    if (action.step == Step::tag) {
      const auto first = to_.tags_.size();
      to_.tags_.resize(first + n_objects_);
      auto* tags = reinterpret_cast<std::byte*>(to_.tags_.data() + first);
      swap_every<std::uint32_t>(tags, at, n_objects_, stride);
    } else if (action.which >= 0 && action.n == 1) {
      auto* into = to_.values_[static_cast<std::size_t>(action.which)].extend(n_objects_ * width);
      width == 8 ? swap_every<std::uint64_t>(into, at, n_objects_, stride)
                 : swap_every<std::uint32_t>(into, at, n_objects_, stride);
    } else if (action.which >= 0) {
      for (std::size_t i = 0; i < n_objects_; ++i) {
        keep_words(action, at + i * stride);
      }
    }
    at += width * action.n;
  }
}

void ObjectDecoder::keep_words(const Action& action, const std::byte* from) {
  auto* into =
      to_.values_[static_cast<std::size_t>(action.which)].extend(std::size_t{4} * action.n);
  swap_into<std::uint32_t>(into, from, action.n);
}

void ObjectDecoder::find_parts(std::span<const Action> actions) {
  to_.parts_.resize(to_.layout_.n_rooms);
  for (auto& places : to_.parts_) {
    places.clear();
  }
  for (std::size_t i = 0; i < n_objects_; ++i) {
    run(actions);
    end_object();
  }
}

void ObjectDecoder::run(std::span<const Action> actions) {
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const auto& action = actions[i];
    const auto steps = actions.subspan(i + 1, action.n_steps);
    switch (action.step) {
      case Step::room: {
        const auto* at = from_.take(action.n);
        to_.parts_[static_cast<std::size_t>(action.which)].push_back(at);
        if (action.count >= 0) {
          kept_ = big_endian<std::uint32_t>(at + 4 * action.count);
        }
        break;
      }
      case Step::list: read_list(action, steps); break;
      case Step::inner_list: read_inner_list(action, steps); break;
      case Step::if_bit: (kept_ >> action.n & 1U) != 0 ? run(steps) : pass_over(steps); break;
      case Step::shorts: read_shorts(action); break;
      case Step::texts: read_texts(action); break;
      case Step::three_counts:
        for (auto& count : counts_) {
          count = static_cast<std::size_t>(from_.word());
        }
        break;
      default: break;  // fixed: part of a room
    }
    i += action.n_steps;
  }
}

void ObjectDecoder::take_parts(std::span<const Action> actions) {
  std::size_t list = 0;
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const auto& action = actions[i];
    if (action.step == Step::list) {
      list = static_cast<std::size_t>(action.which);
    }
    if (action.step != Step::room) {
      continue;
    }
    const std::span<const std::byte* const> places{
        to_.parts_[static_cast<std::size_t>(action.which)]};
    std::size_t offset = 0;
    for (const auto& fixed : actions.subspan(i + 1, places.empty() ? 0 : action.n_steps)) {
      fixed.step == Step::inner_tag ? take_inner_tags(list, places, offset)
                                    : take(fixed, places, offset);
      offset += width_of(fixed) * fixed.n;
    }
    i += action.n_steps;
  }
}

/// A member of all objects, or of all items of their lists.
void ObjectDecoder::take(const Action& action, std::span<const std::byte* const> places,
                         std::size_t offset) {
  if (action.step == Step::tag) {
    const auto first = to_.tags_.size();
    to_.tags_.resize(first + places.size());
    return swap_at_places<std::uint32_t>(reinterpret_cast<std::byte*>(to_.tags_.data() + first),
                                         places, offset);
  }
  if (action.which < 0) {
    return;
  }
  auto& values = to_.values_[static_cast<std::size_t>(action.which)];
  auto* into = values.extend(places.size() * action.n * width_of(action));
  if (action.step == Step::doubles) {
    return swap_at_places<std::uint64_t>(into, places, offset);
  }
  if (action.n == 1) {
    swap_at_places<std::uint32_t>(into, places, offset);
  } else {
    for (const auto* place : places) {
      swap_into<std::uint32_t>(into, place + offset, action.n);
      into += std::size_t{4} * action.n;
    }
  }
  if (action.step == Step::flag) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::int32_t is_set = big_endian<std::uint32_t>(places[i] + offset) != 0 ? 1 : 0;
      std::memcpy(into + 4 * i, &is_set, sizeof(is_set));
    }
  }
}

void ObjectDecoder::take_inner_tags(std::size_t list, std::span<const std::byte* const> places,
                                    std::size_t offset) {
  auto& tags = to_.inner_tags_.back();
  const auto& ends = to_.lists_[list];
  auto begin = ends.end() - static_cast<std::ptrdiff_t>(n_objects_) - 1;
  auto place = places.begin();
  for (; begin + 1 != ends.end(); ++begin) {
    const auto n = static_cast<std::uint32_t>(begin[1] - begin[0]);
    for (std::uint32_t item = 0; item < n; ++item) {
      tags.push_back({big_endian<std::uint32_t>(*place++ + offset), item});
    }
  }
}

void ObjectDecoder::read_list(const Action& action, std::span<const Action> of_item) {
  auto n = std::size_t{action.n};
  if (action.count >= 0) {
    n = counts_[static_cast<std::size_t>(action.count)];
  } else if (n == 0) {
    n = from_.count();
  }
  auto& ends = to_.lists_[static_cast<std::size_t>(action.which)];
  ends.push_back(ends.back() + static_cast<std::int64_t>(n));
  read_items(n, of_item);
}

/// Items of one number each are copied together.
void ObjectDecoder::read_items(std::size_t n, std::span<const Action> of_item) {
  if (n == 0) {
    return;
  }
  const auto is_number = of_item.size() == 2 && of_item[1].n == 1 &&
                         (of_item[1].step == Step::words || of_item[1].step == Step::doubles);
  if (is_number) {
    const std::size_t width = of_item[0].n;
    if (n > from_.n_left() / width) {
      throw_too_many(n);
    }
    const auto* at = from_.take(n * width);
    if (of_item[1].which >= 0) {
      auto* into = to_.values_[static_cast<std::size_t>(of_item[1].which)].extend(n * width);
      width == 8 ? swap_into<std::uint64_t>(into, at, n) : swap_into<std::uint32_t>(into, at, n);
    }
    return;
  }
  if (of_item[0].step == Step::room && of_item[0].n_steps + 1U == of_item.size()) {
    return read_rooms(n, of_item[0]);
  }
  for (std::size_t i = 0; i < n; ++i) {
    run(of_item);
  }
}

/// Items of one size.
void ObjectDecoder::read_rooms(std::size_t n, const Action& room) {
  if (n > from_.n_left() / room.n) {
    throw_too_many(n);
  }
  const auto* at = from_.take(n * room.n);
  auto& places = to_.parts_[static_cast<std::size_t>(room.which)];
  for (std::size_t i = 0; i < n; ++i) {
    places.push_back(at + i * room.n);
  }
}

void ObjectDecoder::throw_too_many(std::size_t n) const {
  throw InputError("it says that " + counted(n, "item follows", "items follow") + ", for which " +
                   counted(from_.n_left(), "byte is", "bytes are") + " left");
}

void ObjectDecoder::read_inner_list(const Action& action, std::span<const Action> of_item) {
  const auto n = from_.count();
  if (action.which >= 0) {
    const auto count = static_cast<std::int32_t>(n);
    auto* into = to_.values_[static_cast<std::size_t>(action.which)].extend(sizeof(count));
    std::memcpy(into, &count, sizeof(count));
  }
  read_items(n, of_item);
}

void ObjectDecoder::read_shorts(const Action& action) {
  const auto n = from_.count(2);
  const auto list = to_.members_->members[static_cast<std::size_t>(action.n)].list;
  const auto* at = from_.take(padded(2 * n));
  auto& ends = to_.lists_[static_cast<std::size_t>(list)];
  ends.push_back(ends.back() + static_cast<std::int64_t>(n));
  if (action.which >= 0) {
    swap_into<std::uint16_t>(to_.values_[static_cast<std::size_t>(action.which)].extend(2 * n), at,
                             n);
  }
}

void ObjectDecoder::read_texts(const Action& action) {
  const auto n = from_.count();
  const auto list = to_.members_->members[static_cast<std::size_t>(action.n)].list;
  auto& ends = to_.lists_[static_cast<std::size_t>(list)];
  ends.push_back(ends.back() + static_cast<std::int64_t>(n));
  for (std::size_t i = 0; i < n; ++i) {
    const auto text = from_.text();
    if (action.which >= 0) {
      auto& values = to_.values_[static_cast<std::size_t>(action.which)];
      std::memcpy(values.extend(text.size()), text.data(), text.size());
      to_.text_ends_.push_back(static_cast<std::int64_t>(values.size()));
    }
  }
}

/// An object lacks a part that others of its collection have.
void ObjectDecoder::pass_over(std::span<const Action> actions) {
  for (const auto& action : actions) {
    if (action.step == Step::room) {
      to_.parts_[static_cast<std::size_t>(action.which)].push_back(zeros.data());
    }
  }
}

/// The lists of lists of numbers end with the object.
void ObjectDecoder::end_object() {
  for (const auto& [member, list] : to_.layout_.inner_lists) {
    auto& ends = to_.lists_[list];
    const auto is_wanted = member >= 0 && to_.wanted_[static_cast<std::size_t>(member)];
    ends.push_back(is_wanted ? static_cast<std::int64_t>(
                                   to_.values_[static_cast<std::size_t>(member)].size() / 4)
                             : ends.back());
  }
}

/// Parts left out by the version or flag of the collection.
void ObjectDecoder::fill_absent() {
  const auto n_objects = static_cast<std::size_t>(to_.events_.back());
  to_.tags_.resize(n_objects, no_tag);
  for (auto& ends : to_.lists_) {
    ends.resize(n_objects + 1, ends.back());
  }
  const auto& members = to_.members_->members;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto list = members[i].list;
    if (to_.wanted_[i] && members[i].element != ElementType::character) {
      fill(i, list < 0
                  ? n_objects
                  : static_cast<std::size_t>(to_.lists_[static_cast<std::size_t>(list)].back()));
    }
  }
}

void ObjectDecoder::fill(std::size_t member, std::size_t n_items) {
  const auto& of = to_.members_->members[member];
  auto& values = to_.values_[member];
  const auto wanted = n_items * of.n_in_item * size_of(of.element);
  if (values.size() >= wanted) {
    return;
  }
  const auto n_missing = wanted - values.size();
  auto* into = values.extend(n_missing);
  std::memset(into, 0, n_missing);
  for (std::size_t i = 0; of.if_absent != 0 && i < n_missing; i += sizeof(of.if_absent)) {
    std::memcpy(into + i, &of.if_absent, sizeof(of.if_absent));
  }
}

Objects::Objects(ObjectType type, const std::vector<bool>& wanted)
    : type_{type},
      members_{&members_of(type)},
      wanted_{wanted},
      values_(members_->members.size()),
      lists_(members_->n_lists, {0}) {
  wanted_.resize(members_->members.size());
}

std::size_t Objects::wanted_member(std::string_view name) const {
  const auto number = members_->find(name);
  if (number < 0 || !has(static_cast<std::size_t>(number))) {
    throw InputError("the objects have no member \"" + std::string{name} +
                     "\", or it was not among those that are wanted");
  }
  return static_cast<std::size_t>(number);
}

void Objects::clear() {
  for (auto& values : values_) {
    values.clear();
  }
  for (auto& ends : lists_) {
    ends.assign(1, 0);
  }
  events_.assign(1, 0);
  text_ends_.assign(1, 0);
  tags_.clear();
  inner_tags_.clear();
}

const std::vector<Objects::InnerTag>& Objects::inner_tags(std::size_t event) const {
  return inner_tags_[event];
}

void Objects::add_event(Cursor& from, std::uint32_t version, std::uint32_t flag) {
  if (layout_.actions.empty() || version != version_ || flag != flag_) {
    layout_ = layout_of(type_, version, flag);
    version_ = version;
    flag_ = flag;
    for (auto& action : layout_.actions) {
      const auto is_packed = action.step == Step::shorts || action.step == Step::texts;
      if (is_packed) {
        action.n = static_cast<std::uint16_t>(action.which);
      }
      if (action.step != Step::list && action.step != Step::room && action.which >= 0 &&
          !wanted_[static_cast<std::size_t>(action.which)]) {
        action.which = -1;
      }
    }
  }
  ObjectDecoder decoder{*this, from};
  if (layout_.has_head_counts) {
    std::array<std::size_t, 3> counts{};
    for (auto& count : counts) {
      count = static_cast<std::size_t>(from.word());
    }
    decoder.set_counts(counts);
  }
  decoder.decode(from.count());
}

void Objects::add_nothing() {
  events_.push_back(events_.back());
  inner_tags_.emplace_back();
}

}  // namespace forkrun::lcio
