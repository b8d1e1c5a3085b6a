#include <forkrun/formats/lcio/event_block.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <forkrun/bytes/inflate.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/data/input_cost.hpp>

namespace forkrun::lcio {

namespace {

constexpr std::size_t n_together = 2;  // events inflated in turns

/// The collection of this name. `guess`: its place in the previous event.
template <typename All>
auto* named(All& all, std::string_view name, std::size_t& guess) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto at = (guess + i) % all.size();
    if (all[at].name == name) {
      guess = at;
      return &all[at];
    }
  }
  return static_cast<decltype(all.data())>(nullptr);
}

}  // namespace

/// Parts before the objects of a collection: its flag, and parameters, which mostly have the same
/// bytes in all events.
class EventBlock::Heads {
 public:
  explicit Heads(std::string_view collection) : collection_{collection} {}

  /// Steps over them. Returns the flag.
  std::uint32_t read(Cursor& from, std::uint32_t version) {
    const auto flag = from.word();
    const auto n = bytes_.size();
    if (n == 0 || version != version_ || from.n_left() < n ||
        std::memcmp(from.next_bytes(), bytes_.data(), n) != 0) {
      const auto* begin = from.next_bytes();
      parameters_ = read_parameters(from, version);
      bytes_ = {begin, from.next_bytes()};
      version_ = version;
    } else {
      (void)from.take(n);
    }
    return flag;
  }
  [[nodiscard]] const Parameters& parameters() const { return parameters_; }

  const CollectionName* name_in(const Event& event) {
    return named(event.header.collections, collection_, name_at_);
  }
  const Block* block_in(const Event& event) { return named(event.blocks, collection_, block_at_); }
  [[nodiscard]] std::string_view collection() const { return collection_; }

 private:
  std::string_view collection_;
  std::size_t name_at_{}, block_at_{};
  std::span<const std::byte> bytes_;
  std::uint32_t version_{};
  Parameters parameters_;
};

std::string EventBlock::where(std::size_t event) const {
  const auto& of = events_[event];
  return of.file->path() + ": event " + std::to_string(of.header.event) + " of run " +
         std::to_string(of.header.run) + " (entry " + std::to_string(of.entry) + ", at byte " +
         std::to_string(of.place) + ")";
}

template <typename Act>
void EventBlock::in_event(std::size_t event, const Act& act) const {
  try {
    act();
  } catch (...) {
    rethrow_with_context(where(event));
  }
}

void EventBlock::load(std::vector<EventsOfFile> pieces) {
  const std::lock_guard lock{mutex_};
  pieces_ = std::move(pieces);
  for (auto& [name, of] : decoded_) {
    if (!of->objects.empty()) {
      of->of_block_before = std::move(of->objects.front());
      of->objects.clear();
    }
  }
  names_.clear();
  failure_ = nullptr;
  next_ = 0;
  n_inflated_ = 0;
  has_targets_ = false;
  has_room_ = false;
  std::size_t n_stored = 0;
  std::size_t n_events = 0;
  for (const auto& [file, first, last] : pieces_) {
    const auto& events = file->events();
    n_stored += first == last
                    ? 0
                    : static_cast<std::size_t>(events[static_cast<std::size_t>(last - 1)].end -
                                               events[static_cast<std::size_t>(first)].place);
    n_events += static_cast<std::size_t>(last - first);
  }
  events_.resize(n_events);
  auto into = stored_.resize(n_stored);
  n_events = 0;
  for (const auto& piece : pieces_) {
    if (piece.first < piece.last) {
      read_piece(piece, into, n_events);
      const auto& events = piece.file->events();
      into = into.subspan(
          static_cast<std::size_t>(events[static_cast<std::size_t>(piece.last - 1)].end -
                                   events[static_cast<std::size_t>(piece.first)].place));
      n_events += static_cast<std::size_t>(piece.last - piece.first);
    }
  }
  restore_headers();
}

/// One read for all. `first`: number in the block of the piece's first event.
void EventBlock::read_piece(const EventsOfFile& piece, std::span<std::byte> into,
                            std::size_t first) {
  const auto stored = std::span{piece.file->events()}.subspan(
      static_cast<std::size_t>(piece.first), static_cast<std::size_t>(piece.last - piece.first));
  const auto begin = stored.front().place;
  const auto bytes = into.first(static_cast<std::size_t>(stored.back().end - begin));
  piece.file->read(begin, bytes, account_);
  for (std::size_t i = 0; i < stored.size(); ++i) {
    auto& event = events_[first + i];
    event.file = piece.file.get();
    event.entry = piece.first + static_cast<std::int64_t>(i);
    event.place = stored[i].place;
    event.records = bytes.subspan(static_cast<std::size_t>(stored[i].place - begin),
                                  static_cast<std::size_t>(stored[i].end - stored[i].place));
    event.body_at = static_cast<std::size_t>(stored[i].body - stored[i].place);
  }
}

/// Headers of all events, and heads of the events themselves.
void EventBlock::restore_headers() {
  std::vector<RecordHead> heads;
  std::size_t n_bytes = 0;
  for (auto& event : events_) {
    try {
      heads.push_back(record_head(event.records, 0, std::ssize(event.records)));
      event.body_head =
          record_head(event.records.subspan(event.body_at), 0,
                      std::ssize(event.records) - std::ssize(event.records.first(event.body_at)));
      if (heads.back().name != "LCEventHeader" || event.body_head.name != "LCEvent") {
        throw InputError("it is not as it was: the file has changed");
      }
      n_bytes += heads.back().n_data;
    } catch (...) {
      rethrow_with_context(event.file->path() + ": entry " + std::to_string(event.entry) +
                           ", at byte " + std::to_string(event.place));
    }
  }
  auto into = headers_.resize(n_bytes);
  for (std::size_t i = 0; i < events_.size(); ++i) {
    auto& event = events_[i];
    try {
      const auto data = into.first(heads[i].n_data);
      restore(heads[i], event.records.subspan(heads[i].n_head, heads[i].n_stored), data);
      event.header = event_header(data);
    } catch (...) {
      rethrow_with_context(event.file->path() + ": header of entry " + std::to_string(event.entry) +
                           ", at byte " + std::to_string(event.place));
    }
    into = into.subspan(heads[i].n_data);
  }
  find_names();
  std::size_t n_data = 0;
  for (const auto& event : events_) {
    n_data += event.body_head.n_data;
  }
  n_data_ = n_data;
}

void EventBlock::find_names() {
  for (const auto& event : events_) {
    for (std::size_t i = 0; const auto& collection : event.header.collections) {
      const auto is_at_same_place = i < names_.size() && names_[i] == collection.name;
      ++i;
      if (!is_at_same_place && std::ranges::find(names_, collection.name) == names_.end()) {
        names_.push_back(collection.name);
      }
    }
  }
}

/// Threads that arrive while others inflate help them, and wait until all is there.
void EventBlock::inflate_all() {
  if (n_inflated_ < events_.size()) {
    const ForAllColumns note;
    {
      const std::lock_guard lock{mutex_};
      give_room();
    }
    inflate_some();
    for (auto n = n_inflated_.load(); n < events_.size(); n = n_inflated_.load()) {
      n_inflated_.wait(n);
    }
  }
  const std::lock_guard lock{mutex_};
  if (failure_) {
    std::rethrow_exception(failure_);
  }
}

void EventBlock::give_room() {
  if (has_room_) {
    return;
  }
  auto into = data_.resize(n_data_);
  for (auto& event : events_) {
    event.data = into.first(event.body_head.n_data);
    into = into.subspan(event.body_head.n_data);
  }
  has_room_ = true;
}

void EventBlock::inflate_some() {
  for (auto first = next_.fetch_add(n_together); first < events_.size();
       first = next_.fetch_add(n_together)) {
    const auto last = std::min(first + n_together, events_.size());
    try {
      inflate(first, last);
    } catch (...) {
      const std::lock_guard lock{mutex_};
      if (!failure_) {
        failure_ = std::current_exception();
      }
    }
    n_inflated_ += last - first;
    n_inflated_.notify_all();
  }
}

Inflated EventBlock::inflate_two(const Event& one, const Event& other) {
  const auto from = stored_of(one), from_other = stored_of(other);
  const UnpackingNote note{from.size() + from_other.size(), one.data.size() + other.data.size()};
  return inflate_both({from, one.data}, {from_other, other.data});
}

/// One event, or two in turns, which takes less time than one after the other.
void EventBlock::inflate(std::size_t first, std::size_t last) {
  auto& one = events_[first];
  auto& other = events_[last - 1];
  if (last - first == n_together && one.body_head.is_compressed() &&
      other.body_head.is_compressed()) {
    const auto done = inflate_two(one, other);
    for (const auto& [is_done, event] :
         {std::pair{done.one, first}, std::pair{done.other, first + 1}}) {
      if (!is_done) {
        in_event(event, [&] {
          restore(events_[event].body_head, stored_of(events_[event]), events_[event].data);
        });
      }
    }
  } else {
    for (auto event = first; event < last; ++event) {
      in_event(event, [&] {
        restore(events_[event].body_head, stored_of(events_[event]), events_[event].data);
      });
    }
  }
  for (auto event = first; event < last; ++event) {
    in_event(event, [&] { find_blocks(event); });
  }
}

std::span<const std::byte> EventBlock::stored_of(const Event& event) {
  return event.records.subspan(event.body_at + event.body_head.n_head, event.body_head.n_stored);
}

void EventBlock::find_blocks(std::size_t event) {
  auto& blocks = events_[event].blocks;
  blocks.clear();
  for_each_block(events_[event].data, [&](const Block& block) { blocks.push_back(block); });
}

EventBlock::Decoded& EventBlock::decoded(std::string_view collection) {
  const std::lock_guard lock{mutex_};
  auto found = decoded_.find(collection);
  if (found == decoded_.end()) {
    found = decoded_.emplace(std::string{collection}, std::make_unique<Decoded>()).first;
  }
  return *found->second;
}

const Objects* EventBlock::objects(std::string_view collection, std::string_view needed) {
  const auto type = type_of(collection);
  if (type == ObjectType::none) {
    return nullptr;
  }
  const auto& members = members_of(type);
  const auto member = needed.empty() ? -1 : members.find(needed);
  auto& of = decoded(collection);
  const std::lock_guard lock{of.mutex};
  for (const auto& known : of.objects) {
    if (member < 0 || known->has(static_cast<std::size_t>(member))) {
      return known.get();
    }
  }
  // A missing announcement: more may follow.
  auto wanted = of.objects.empty() ? mask(collection, members)
                                   : std::vector<bool>(members.members.size(), true);
  if (member >= 0) {
    wanted[static_cast<std::size_t>(member)] = true;
  }
  inflate_all();
  auto made = std::move(of.of_block_before);
  if (made && made->is_for(type, wanted)) {
    made->clear();
  } else {
    made = std::make_unique<Objects>(type, wanted);
  }
  decode(collection, *made);
  of.objects.push_back(std::move(made));
  return of.objects.back().get();
}

std::vector<bool> EventBlock::mask(std::string_view collection, const Members& members) const {
  std::vector<bool> wanted(members.members.size());
  const auto asked = wanted_->find(collection);
  if (asked != wanted_->end()) {
    for (const auto& name : asked->second) {
      if (const auto number = members.find(name); number >= 0) {
        wanted[static_cast<std::size_t>(number)] = true;
      }
    }
  }
  return wanted;
}

/// Like the first event with the collection.
ObjectType EventBlock::type_of(std::string_view collection) const {
  for (const auto& event : events_) {
    for (const auto& [name, type, is_subset] : event.header.collections) {
      if (name == collection) {
        return is_subset ? ObjectType::reference : object_type(type);
      }
    }
  }
  return ObjectType::none;
}

void EventBlock::decode(std::string_view collection, Objects& into) {
  Heads heads{collection};
  for (std::size_t event = 0; event < events_.size(); ++event) {
    in_event(event, [&] {
      try {
        decode_event(events_[event], heads, into);
      } catch (...) {
        rethrow_with_context("collection \"" + std::string{collection} + '"');
      }
    });
  }
}

void EventBlock::decode_event(const Event& event, Heads& heads, Objects& into) {
  const auto* found = heads.name_in(event);
  if (found == nullptr) {
    return into.add_nothing();
  }
  const auto type = found->is_subset ? ObjectType::reference : object_type(found->type);
  if (type != into.type()) {
    throw InputError("it is of type " + std::string{found->type} +
                     (found->is_subset ? " (a subset)" : "") + ", and of another in other events");
  }
  const auto* block = heads.block_in(event);
  if (block == nullptr) {
    throw InputError("the header of the event names it, but the event does not have it");
  }
  Cursor from{block->content};
  const auto flag = heads.read(from, block->version);
  into.add_event(from, block->version, flag);
}

void EventBlock::parameters(std::string_view collection, const UseParameters& use) {
  inflate_all();
  Heads heads{collection};
  const Parameters nothing;
  for (std::size_t event = 0; event < events_.size(); ++event) {
    in_event(event, [&] {
      const auto* block = heads.block_in(events_[event]);
      if (block == nullptr) {
        return use(nothing);
      }
      Cursor from{block->content};
      (void)heads.read(from, block->version);
      use(heads.parameters());
    });
  }
}

}  // namespace forkrun::lcio
