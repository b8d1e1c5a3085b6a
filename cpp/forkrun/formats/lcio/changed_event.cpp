#include <forkrun/formats/lcio/changed_event.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_set>
#include <utility>

#include <forkrun/bytes/deflate.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/lcio/cursor.hpp>
#include <forkrun/formats/lcio/layout.hpp>
#include <forkrun/formats/lcio/written.hpp>

namespace forkrun::lcio {

namespace {

/// Places of object numbers in the bytes of a collection: of its objects, and of their pointers.
struct ObjectNumbers {
  std::function<void(std::byte*)> of_object;
  std::function<void(std::byte*)> of_pointer;
};

/// Follows the decoder's steps through objects, and takes only numbers of objects.
class NumberWalk {
 public:
  NumberWalk(const Members& members, Layout layout, Cursor from, const ObjectNumbers& use)
      : members_{members}, layout_{std::move(layout)}, from_{from}, use_{use} {}

  void run() {
    if (layout_.has_head_counts) {
      read_counts();
    }
    const auto n = from_.count();
    for (std::size_t i = 0; i < n; ++i) {
      run(layout_.actions);
    }
  }

 private:
  void run(std::span<const Action> actions) {
    std::byte* at = nullptr;
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const auto& action = actions[i];
      const auto steps = actions.subspan(i + 1, action.n_steps);
      switch (action.step) {
        case Step::room: at = take(action.n); continue;  // into its steps
        case Step::kept_word: kept_ = big_endian<std::uint32_t>(at); [[fallthrough]];
        case Step::words:
          if (action.which >= 0 &&
              members_.members[static_cast<std::size_t>(action.which)].is_pointer) {
            use_.of_pointer(at);
          }
          at += std::size_t{4} * action.n;
          break;
        case Step::flag: at += 4; break;
        case Step::doubles: at += std::size_t{8} * action.n; break;
        case Step::tag:
        case Step::inner_tag:
          use_.of_object(at);
          at += 4;
          break;
        case Step::list:
        case Step::inner_list: repeat(n_items(action), steps); break;
        case Step::if_bit:
          if ((kept_ >> action.n & 1U) != 0) {
            run(steps);
          }
          break;
        case Step::shorts: (void)from_.take(padded(2 * from_.count(2))); break;
        case Step::texts: skip_texts(); break;
        case Step::three_counts: read_counts(); break;
      }
      i += action.n_steps;
    }
  }

  std::byte* take(std::size_t n) { return const_cast<std::byte*>(from_.take(n)); }  // NOLINT

  std::size_t n_items(const Action& action) {
    if (action.step == Step::list && action.count >= 0) {
      return counts_[static_cast<std::size_t>(action.count)];
    }
    return action.step == Step::list && action.n > 0 ? action.n : from_.count();
  }

  void repeat(std::size_t n, std::span<const Action> steps) {
    for (std::size_t i = 0; i < n; ++i) {
      run(steps);
    }
  }

  void skip_texts() {
    const auto n = from_.count();
    for (std::size_t i = 0; i < n; ++i) {
      (void)from_.text();
    }
  }

  void read_counts() {
    for (auto& count : counts_) {
      count = from_.word();
    }
  }

  const Members& members_;
  Layout layout_;
  Cursor from_;
  const ObjectNumbers& use_;
  std::array<std::size_t, 3> counts_{};
  std::uint32_t kept_{};
};

/// Scans the objects of a collection. `content`: of its block, after the parameters. \throws
/// InputError
void for_each_number(std::span<std::byte> content, ObjectType type, std::uint32_t version,
                     std::uint32_t flag, const ObjectNumbers& use) {
  NumberWalk{members_of(type), layout_of(type, version, flag), Cursor{content}, use}.run();
}

using Numbers = std::unordered_set<std::uint32_t>;

void write_parameters(Parameters parameters, Written& to) {
  std::ranges::stable_sort(parameters, {}, &Parameter::name);
  for (const auto type :
       {ElementType::int32, ElementType::float32, ElementType::float64, ElementType::character}) {
    to.count(static_cast<std::size_t>(std::ranges::count(parameters, type, &Parameter::type)));
    for (const auto& each : parameters) {
      if (each.type != type) {
        continue;
      }
      to.text(each.name);
      if (type != ElementType::character) {
        to.count(each.numbers.size() / size_of(type)).bytes(each.numbers);
        continue;
      }
      to.count(each.texts.size());
      for (const auto text : each.texts) {
        to.text(text);
      }
    }
  }
}

/// Copies the parameters that stay, and adds the new ones.
Parameters parameters_of(const EventHeader& header, const Dropped& dropped, const Added& added) {
  Parameters all = added.parameters;
  for (const auto& each : header.parameters) {
    if (!dropped.parameters.contains(each.name) &&
        std::ranges::find(added.parameters, each.name, &Parameter::name) ==
            added.parameters.end()) {
      all.push_back(each);
    }
  }
  return all;
}

std::vector<std::byte> header_data(const EventHeader& header, const Dropped& dropped,
                                   const Added& added) {
  auto collections = header.collections;
  std::erase_if(collections, [&](const auto& c) { return dropped.collections.contains(c.name); });
  collections.insert(collections.end(), added.collections.begin(), added.collections.end());
  Written content;
  content.add(header.run).add(header.event).add(header.time_stamp).text(header.detector);
  content.count(collections.size());
  for (const auto& [name, type, is_subset] : collections) {
    content.text(name).text(std::string{type} + (is_subset ? std::string{subset_postfix} : ""));
  }
  write_parameters(parameters_of(header, dropped, added), content);
  return Written{}.block("EventHeader", written_version, content.view()).take();
}

/// A collection of an event, whose bytes may be changed.
struct StoredCollection {
  const CollectionName* name{};
  Block block;
  std::uint32_t flag{};
  std::size_t n_head{};  ///< bytes of flag and parameters

  [[nodiscard]] ObjectType type() const {
    return name->is_subset ? ObjectType::reference : object_type(name->type);
  }
  [[nodiscard]] std::span<std::byte> objects() const {
    auto* first = const_cast<std::byte*>(block.content.data());  // NOLINT: our own data
    return std::span{first, block.content.size()}.subspan(n_head);
  }
};

std::vector<StoredCollection> collections_of(const EventHeader& header,
                                             std::span<const std::byte> data) {
  std::vector<StoredCollection> found;
  for_each_block(data, [&](const Block& block) {
    const auto name = std::ranges::find(header.collections, block.name, &CollectionName::name);
    if (name != header.collections.end()) {
      Cursor from{block.content};
      const auto flag = from.word();
      (void)read_parameters(from, block.version);
      found.push_back({&*name, block, flag, block.content.size() - from.n_left()});
    }
  });
  return found;
}

void for_each_number_of(const StoredCollection& of, const ObjectNumbers& use) {
  if (of.type() == ObjectType::none) {
    return;
  }
  try {
    for_each_number(of.objects(), of.type(), of.block.version, of.flag, use);
  } catch (...) {
    rethrow_with_context("collection \"" + std::string{of.name->name} + '"');
  }
}

/// Tags of objects in collections that are dropped.
Numbers dropped_numbers(const std::vector<StoredCollection>& all, const Dropped& dropped) {
  Numbers found;
  const ObjectNumbers use{[&](std::byte* at) { found.insert(big_endian<std::uint32_t>(at)); },
                          [](std::byte*) {}};
  for (const auto& each : all) {
    if (dropped.collections.contains(each.name->name)) {
      for_each_number_of(each, use);
    }
  }
  return found;
}

void clear_pointers(const StoredCollection& of, const Numbers& gone) {
  constexpr std::array<std::byte, 4> null{};
  for_each_number_of(of, {[](std::byte*) {},
                          [&](std::byte* at) {
                            if (gone.contains(big_endian<std::uint32_t>(at))) {
                              std::ranges::copy(null, at);
                            }
                          }});
}

/// References of a collection whose targets stay.
void write_references(const StoredCollection& of, const Numbers& gone, Written& to) {
  Written content;
  content.bytes(of.block.content.first(of.n_head));
  Cursor from{of.objects()};
  std::vector<std::uint32_t> numbers(from.count());
  for (auto& number : numbers) {
    number = from.word();
  }
  std::erase_if(numbers, [&](auto number) { return gone.contains(number); });
  content.count(numbers.size());
  for (const auto number : numbers) {
    content.add(number);
  }
  to.block(of.block.name, of.block.version, content.view());
}

std::vector<std::byte> body_data(const EventHeader& header, std::span<const std::byte> data,
                                 const Dropped& dropped, const Added& added) {
  const auto all = collections_of(header, data);
  const auto gone = dropped_numbers(all, dropped);
  Written to;
  for (const auto& each : all) {
    if (dropped.collections.contains(each.name->name)) {
      continue;
    }
    if (!gone.empty() && each.name->is_subset) {
      write_references(each, gone, to);
      continue;
    }
    if (!gone.empty()) {
      clear_pointers(each, gone);
    }
    to.block(each.block.name, each.block.version, each.block.content);
  }
  return to.bytes(added.blocks).take();
}

void add_record(std::string_view name, std::span<const std::byte> data, Written& to) {
  const auto small = deflated(data);
  to.record(name, small.empty() ? data : small, data.size(), !small.empty());
}

/// An event that keeps everything: only the additions are compressed. False if that is impossible.
bool add_longer_record(const EventFile& file, const RecordHead& head,
                       std::span<const std::byte> more, Written& to) {
  if (!head.is_compressed()) {
    return false;
  }
  const auto stored = file.stored(head);
  std::vector<std::byte> data(head.n_data);
  const auto last = inflate_to_end({stored, data});
  if (!last) {
    throw_not_inflated(head);
  }
  const auto longer = more.empty() ? stored : deflated_after(stored, *last, more);
  if (!longer.empty()) {
    to.record(head.name, longer, head.n_data + more.size(), true);
  }
  return !longer.empty();
}

}  // namespace

std::vector<std::byte> changed_event(const EventFile& file, std::size_t entry,
                                     const Dropped& dropped, const Added& added) {
  const auto& place = file.events().at(entry);
  try {
    const auto head = file.restored(file.head_at(place.place));
    const auto header = event_header(head);
    const auto body = file.head_at(place.body);
    Written records;
    add_record("LCEventHeader", header_data(header, dropped, added), records);
    if (!dropped.collections.empty() || !add_longer_record(file, body, added.blocks, records)) {
      add_record("LCEvent", body_data(header, file.restored(body), dropped, added), records);
    }
    return records.take();
  } catch (...) {
    rethrow_with_context(file.path() + ": entry " + std::to_string(entry) + ", at byte " +
                         std::to_string(place.place));
  }
}

}  // namespace forkrun::lcio
