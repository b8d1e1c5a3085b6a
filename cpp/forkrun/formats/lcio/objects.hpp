#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <forkrun/formats/lcio/layout.hpp>

namespace forkrun::lcio {

/// Growing values of a column: some bytes for each object, with inline additions.
class Values {
 public:
  /// Room for `n` bytes more.
  std::byte* extend(std::size_t n) {
    if (n > capacity_ - size_) {
      grow(std::max(2 * capacity_, size_ + n));
    }
    size_ += n;
    return data_.get() + size_ - n;
  }
  void clear() { size_ = 0; }
  [[nodiscard]] std::span<const std::byte> view() const { return {data_.get(), size_}; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  void grow(std::size_t capacity) {
    auto larger = std::make_unique_for_overwrite<std::byte[]>(capacity);
    if (size_ > 0) {
      std::memcpy(larger.get(), data_.get(), size_);
    }
    data_ = std::move(larger);
    capacity_ = capacity;
  }

  std::unique_ptr<std::byte[]> data_;
  std::size_t size_{};
  std::size_t capacity_{};
};

/// Number of an object without pointers to it.
constexpr std::uint32_t no_tag = 0xFFFFFFFF;

/// Objects of a collection in consecutive events, as columns: no object is ever made. Columns of
/// wanted members have the values of all objects, in the order of the events.
class Objects {
 public:
  /// `wanted`: by member; none: no member, but the tags of objects.
  Objects(ObjectType type, const std::vector<bool>& wanted);

  /// Removes all events; keeps the memory.
  void clear();
  [[nodiscard]] bool is_for(ObjectType type, const std::vector<bool>& wanted) const {
    return type == type_ && wanted == wanted_;
  }

  [[nodiscard]] ObjectType type() const { return type_; }
  [[nodiscard]] const Members& members() const { return *members_; }
  [[nodiscard]] bool has(std::size_t member) const { return wanted_[member]; }
  /// Offsets of the events: first object of each, and the number of objects.
  [[nodiscard]] const std::vector<std::int64_t>& events() const { return events_; }
  /// Ends of each object's part of a list, in items; `ends[0]` is 0.
  [[nodiscard]] const std::vector<std::int64_t>& ends(std::size_t list) const {
    return lists_[list];
  }
  [[nodiscard]] const Values& values(std::size_t member) const { return values_[member]; }
  /// The same by name, as numbers of their type. \throws InputError if it was not wanted
  template <typename T>
  [[nodiscard]] std::span<const T> as(std::string_view name) const {
    const auto bytes = values(wanted_member(name)).view();
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  [[nodiscard]] Values& values(std::size_t member) { return values_[member]; }
  /// For texts: the end of each; begins with 0.
  [[nodiscard]] const std::vector<std::int64_t>& text_ends() const { return text_ends_; }
  /// (n_objects,) number of each in pointers of the event.
  [[nodiscard]] const std::vector<std::uint32_t>& tags() const { return tags_; }
  /// The same for items of the list of particle ids, and the place of each in its object.
  struct InnerTag {
    std::uint32_t tag{}, index{};
  };
  [[nodiscard]] const std::vector<InnerTag>& inner_tags(std::size_t event) const;

  /// Adds the objects of the next event, from the content of a collection's block after its
  /// parameters. \throws InputError
  void add_event(class Cursor& from, std::uint32_t version, std::uint32_t flag);
  /// The next event does not have the collection.
  void add_nothing();

 private:
  friend class ObjectDecoder;
  [[nodiscard]] std::size_t wanted_member(std::string_view name) const;

  ObjectType type_;
  const Members* members_;
  std::vector<bool> wanted_;
  std::vector<Values> values_;                    ///< by member
  std::vector<std::vector<std::int64_t>> lists_;  ///< by list
  std::vector<std::int64_t> events_{0};
  std::vector<std::int64_t> text_ends_{0};
  std::vector<std::uint32_t> tags_;
  std::vector<std::vector<InnerTag>> inner_tags_;     ///< by event
  std::vector<std::vector<const std::byte*>> parts_;  ///< of the last event, by room
  Layout layout_;                                     ///< of the last event
  std::uint32_t version_{}, flag_{};
};

}  // namespace forkrun::lcio
