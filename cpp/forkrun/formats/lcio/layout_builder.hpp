#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <forkrun/formats/lcio/layout.hpp>
#include <forkrun/formats/lcio/record.hpp>

namespace forkrun::lcio {

/// Notes the steps of an object's layout as they are described, and its members. A description of
/// every version at once, with all flags, gives all members.
class LayoutBuilder {
 public:
  /// For all versions.
  LayoutBuilder() : knows_all_{true} {}
  LayoutBuilder(const Members& known, std::uint32_t version, std::uint32_t flag)
      : members_{known}, version_{version}, flag_{flag} {}

  [[nodiscard]] bool since(std::uint32_t major, std::uint32_t minor) const {
    return knows_all_ || version_ >= version_of(major, minor);
  }
  [[nodiscard]] bool is_version(std::uint32_t major, std::uint32_t minor) const {
    return knows_all_ || version_ == version_of(major, minor);
  }
  [[nodiscard]] bool bit(unsigned number) const {
    return knows_all_ || (flag_ >> number & 1U) != 0;
  }
  /// Whether objects can be pointed to: a bit says that they cannot; up to 1.2, that they can.
  [[nodiscard]] bool has_tag(unsigned bit_without) const {
    return knows_all_ || ((flag_ >> bit_without & 1U) == 0) == (version_ > version_of(1, 2));
  }

  LayoutBuilder& integer(std::string_view name, std::uint16_t n = 1) {
    return words(name, ElementType::int32, n);
  }
  LayoutBuilder& real(std::string_view name, std::uint16_t n = 1, std::uint32_t if_absent = 0) {
    return words(name, ElementType::float32, n, if_absent);
  }
  /// A vector: `name`.x, .y and .z.
  LayoutBuilder& vector(std::string_view name) { return axes(name, ElementType::float32); }
  LayoutBuilder& double_vector(std::string_view name) { return axes(name, ElementType::float64); }
  LayoutBuilder& pointer(std::string_view name);
  LayoutBuilder& tag();
  /// 0 or 1, stored as one byte.
  LayoutBuilder& flag(std::string_view name);
  /// The next number is tested by `if_bit`.
  LayoutBuilder& kept_integer(std::string_view name);
  /// Values without a member.
  LayoutBuilder& skip(std::uint16_t n_words);

  /// `item` describes the content of each item; `n`: their number, 0: stored before.
  template <typename Describe>
  LayoutBuilder& list(std::string_view name, const Describe& item, std::uint16_t n = 0) {
    const auto outer = list_;
    const auto place = outer < 0 ? begin_list(name, n) : begin_inner_list(name);
    const auto before = std::exchange(prefix_, prefix_ + std::string{name} + ".");
    item();
    prefix_ = before;
    list_ = outer;
    close(place);
    return *this;
  }
  /// Lists of numbers, of pointers.
  LayoutBuilder& integers(std::string_view name) { return numbers(name, ElementType::int32, 4); }
  LayoutBuilder& reals(std::string_view name, std::uint16_t n = 0) {
    return numbers(name, ElementType::float32, 4, n);
  }
  LayoutBuilder& pointers(std::string_view name);
  LayoutBuilder& shorts(std::string_view name);
  LayoutBuilder& texts(std::string_view name);
  /// Integers, reals and doubles, with counts before all objects, or before each.
  LayoutBuilder& three_lists(bool are_before_objects);

  template <typename Describe>
  LayoutBuilder& if_bit(std::uint16_t number, const Describe& then) {
    end_room();
    const auto place = layout_.actions.size();
    layout_.actions.push_back({Step::if_bit, -1, number, 0, -1});
    then();
    close(place);
    return *this;
  }

  [[nodiscard]] Layout finish();
  [[nodiscard]] Members members() && { return std::move(members_); }

 private:
  LayoutBuilder& words(std::string_view name, ElementType element, std::uint16_t n,
                       std::uint32_t if_absent = 0);
  LayoutBuilder& axes(std::string_view name, ElementType element);
  LayoutBuilder& numbers(std::string_view name, ElementType element, std::size_t size,
                         std::uint16_t n = 0, std::int8_t count = -1);
  void fixed(Step step, std::int32_t which, std::uint16_t n, std::size_t n_bytes);
  std::size_t begin_list(std::string_view name, std::uint16_t n);
  std::size_t begin_inner_list(std::string_view name);
  LayoutBuilder& packed(std::string_view name, Step step, ElementType element);
  void close(std::size_t place);
  void end_room() { room_ = -1; }
  std::int32_t member(std::string_view name, Member of);
  std::int32_t list_of(std::string_view name);

  Members members_;
  Layout layout_;
  std::string prefix_;
  std::int32_t list_ = -1;
  std::int64_t room_ = -1;  ///< number of the step that contains the following fixed steps
  std::int8_t next_count_ = -1;
  std::uint32_t version_{}, flag_{};
  bool knows_all_{};
};

}  // namespace forkrun::lcio
