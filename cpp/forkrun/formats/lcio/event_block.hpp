#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <forkrun/bytes/growing_bytes.hpp>
#include <forkrun/bytes/inflate.hpp>
#include <forkrun/formats/lcio/event_file.hpp>
#include <forkrun/formats/lcio/event_header.hpp>
#include <forkrun/formats/lcio/objects.hpp>

namespace forkrun::lcio {

/// Members that will be asked for, by collection.
using WantedMembers = std::map<std::string, std::vector<std::string>, std::less<>>;

/// Events [first, last) of a file.
struct EventsOfFile {
  std::shared_ptr<const EventFile> file;
  std::int64_t first{};
  std::int64_t last{};
};

/// What a pointer leads to: the number of an object in the collection whose name has this id, -1
/// and 0: to nothing.
struct Target {
  std::uint32_t collection{};
  std::int32_t index = -1;
};

/// The id of a collection, by its name: as podio has it, MurmurHash3 with 32 bits.
[[nodiscard]] std::uint32_t id_of(std::string_view collection);

/// Consecutive events, in steps that are made when somebody asks for what they give: the records
/// are read and the headers inflated by `load`; the events are inflated when the first collection
/// is asked for, a collection is taken apart when one of its members is. All but `load`: any
/// thread, and several that ask at the same time inflate together.
class EventBlock {
 public:
  /// `wanted`: what a collection is taken apart for when it is asked for first. It has to stay.
  explicit EventBlock(const WantedMembers& wanted) : wanted_{&wanted} {}

  /// \throws InputError with file and event, as all others
  void load(std::vector<EventsOfFile> pieces);

  [[nodiscard]] std::size_t size() const { return events_.size(); }
  [[nodiscard]] const EventHeader& header(std::size_t event) const { return events_[event].header; }
  /// What its file says of its run; nullptr: nothing.
  [[nodiscard]] const RunHeader* run_header(std::size_t event) const {
    return events_[event].file->run_header(events_[event].header.run);
  }
  /// "FILE: event 7 of run 1 (entry 6, at byte 1234)".
  [[nodiscard]] std::string where(std::size_t event) const;

  /// Inflates all events.
  void inflate_all();
  /// With the members that are wanted, and `needed`, if that is not "". Events without the
  /// collection have no objects; without any event that has it: nullptr.
  const Objects* objects(std::string_view collection, std::string_view needed);
  using UseParameters = std::function<void(const Parameters&)>;
  /// Parameters of a collection, of one event after the other; none where it does not have it.
  /// \throws InputError
  void parameters(std::string_view collection, const UseParameters& use);
  /// Names of all collections of the events.
  [[nodiscard]] const std::vector<std::string_view>& collections() const { return names_; }
  /// Finds out which objects the numbers of pointers mean.
  void find_targets();
  /// What objects of an event point at, by number: what is beyond them is nothing. Needs
  /// `find_targets`.
  [[nodiscard]] std::span<const Target> targets(std::size_t event) const {
    return std::span{targets_}.subspan(targets_begin_[event],
                                       targets_begin_[event + 1] - targets_begin_[event]);
  }
  [[nodiscard]] Target target(std::size_t event, std::uint32_t number) const {
    const auto of_event = targets(event);
    return number < of_event.size() ? of_event[number] : Target{};
  }
  [[nodiscard]] const ReadAccount& account() const { return account_; }

 private:
  struct Event {
    const EventFile* file{};
    std::int64_t entry{}, place{};
    std::span<const std::byte> records;  ///< both, as they are in the file
    std::size_t body_at{};               ///< place of the second in these
    RecordHead body_head;
    std::span<std::byte> data;  ///< of the second, inflated
    EventHeader header;
    std::vector<Block> blocks{};
  };
  class Heads;
  /// A collection, taken apart for what was asked for first, and then for everything.
  struct Decoded {
    std::mutex mutex;
    std::vector<std::unique_ptr<Objects>> objects;
    std::unique_ptr<Objects> of_block_before;  ///< its memory is used again
  };

  void read_piece(const EventsOfFile& piece, std::span<std::byte> into, std::size_t first);
  void restore_headers();
  void find_names();
  void give_room();
  void inflate_some();
  void inflate(std::size_t first, std::size_t last);
  [[nodiscard]] static Inflated inflate_two(const Event& one, const Event& other);
  void find_blocks(std::size_t event);
  [[nodiscard]] static std::span<const std::byte> stored_of(const Event& event);
  [[nodiscard]] Decoded& decoded(std::string_view collection);
  [[nodiscard]] ObjectType type_of(std::string_view collection) const;
  [[nodiscard]] std::vector<bool> mask(std::string_view collection, const Members& members) const;
  void decode(std::string_view collection, Objects& into);
  static void decode_event(const Event& event, Heads& heads, Objects& into);
  void add_targets(std::size_t event,
                   const std::vector<std::pair<std::uint32_t, const Objects*>>& all);
  template <typename Act>
  void in_event(std::size_t event, const Act& act) const;

  const WantedMembers* wanted_;
  Bytes stored_;   ///< records as they are in the files
  Bytes headers_;  ///< inflated headers
  Bytes data_;     ///< inflated events
  std::vector<EventsOfFile> pieces_;
  std::vector<Event> events_;
  std::vector<std::string_view> names_;
  std::size_t n_data_{};  ///< bytes of all events, inflated
  ReadAccount account_;

  std::mutex mutex_;  ///< of the map and the failure
  std::map<std::string, std::unique_ptr<Decoded>, std::less<>> decoded_;
  std::exception_ptr failure_;
  std::atomic<std::size_t> next_{}, n_inflated_{};
  std::mutex targets_mutex_;
  bool has_room_{}, has_targets_{};
  std::vector<Target> targets_;             ///< of all events, by number
  std::vector<std::size_t> targets_begin_;  ///< by event
};

}  // namespace forkrun::lcio
