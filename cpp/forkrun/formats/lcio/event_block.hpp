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

/// Members to be requested, by collection.
using WantedMembers = std::map<std::string, std::vector<std::string>, std::less<>>;

/// Events [first, last) of a file.
struct EventsOfFile {
  std::shared_ptr<const EventFile> file;
  std::int64_t first{};
  std::int64_t last{};
};

/// Target of a pointer: the number of an object in the collection whose name has this id; -1 and 0:
/// none.
struct Target {
  std::uint32_t collection{};
  std::int32_t index = -1;
};

/// Id of a collection, by its name: podio's, MurmurHash3 with 32 bits.
[[nodiscard]] std::uint32_t id_of(std::string_view collection);

/// Consecutive events, processed in steps on request: `load` reads the records and inflates the
/// headers; the events are inflated at the first request of a collection, a collection is decoded
/// when one of its members is requested. All but `load`: any thread, and several that request at
/// the same time inflate together.
class EventBlock {
 public:
  /// `wanted`: members for the first decoding of a collection. It must not move.
  explicit EventBlock(const WantedMembers& wanted) : wanted_{&wanted} {}

  /// \throws InputError with file and event, like all others
  void load(std::vector<EventsOfFile> pieces);

  [[nodiscard]] std::size_t size() const { return events_.size(); }
  [[nodiscard]] const EventHeader& header(std::size_t event) const { return events_[event].header; }
  /// Run header in its file; nullptr: none.
  [[nodiscard]] const RunHeader* run_header(std::size_t event) const {
    return events_[event].file->run_header(events_[event].header.run);
  }
  /// "FILE: event 7 of run 1 (entry 6, at byte 1234)".
  [[nodiscard]] std::string where(std::size_t event) const;

  /// Inflates all events.
  void inflate_all();
  /// With the wanted members, and `needed`, if that is not "". Events without the collection have
  /// no objects; nullptr if no event has it.
  const Objects* objects(std::string_view collection, std::string_view needed);
  using UseParameters = std::function<void(const Parameters&)>;
  /// Parameters of a collection, event after event; none where an event lacks it. \throws
  /// InputError
  void parameters(std::string_view collection, const UseParameters& use);
  /// Names of all collections of the events.
  [[nodiscard]] const std::vector<std::string_view>& collections() const { return names_; }
  /// Finds the objects with the numbers of pointers.
  void find_targets();
  /// Targets of an event, by number; larger numbers have none. Needs `find_targets`.
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
    std::span<const std::byte> records;  ///< both, as in the file
    std::size_t body_at{};               ///< place of the second in these
    RecordHead body_head;
    std::span<std::byte> data;  ///< of the second, inflated
    EventHeader header;
    std::vector<Block> blocks{};
  };
  class Heads;
  /// A collection, decoded for the first request, and then completely.
  struct Decoded {
    std::mutex mutex;
    std::vector<std::unique_ptr<Objects>> objects;
    std::unique_ptr<Objects> of_block_before;  ///< its memory is reused
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
  Bytes stored_;   ///< records as in the files
  Bytes headers_;  ///< inflated headers
  Bytes data_;     ///< inflated events
  std::vector<EventsOfFile> pieces_;
  std::vector<Event> events_;
  std::vector<std::string_view> names_;
  std::size_t n_data_{};  ///< inflated bytes of all events
  ReadAccount account_;

  std::mutex mutex_;  ///< for the map and the failure
  std::map<std::string, std::unique_ptr<Decoded>, std::less<>> decoded_;
  std::exception_ptr failure_;
  std::atomic<std::size_t> next_{}, n_inflated_{};
  std::mutex targets_mutex_;
  bool has_room_{}, has_targets_{};
  std::vector<Target> targets_;             ///< of all events, by number
  std::vector<std::size_t> targets_begin_;  ///< by event
};

}  // namespace forkrun::lcio
