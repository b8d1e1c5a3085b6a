#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace forkrun {

/// Memory of all columns of this process, including columns that only arrays hold.
[[nodiscard]] std::int64_t bytes_of_all_columns();

enum class ElementType : std::uint8_t {
  boolean,
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float32,
  float64,
  character  ///< a byte of a text in UTF-8; the innermost list of them is the text
};
/// Levels of nested lists in an event; deeper ones have no name. A text is a list of characters.
enum class Shape : std::uint8_t { scalar, jagged, doubly_jagged };

/// The type of a column, written as C++ declares arrays, from the outermost to the innermost:
/// "float32" (one value per event), "float32[]" (any number), "float32[4]" (four), "float32[][3]"
/// (any number of three each), "float32[][]" (lists of lists), "string", "string[]".
struct ColumnType {
  static constexpr std::size_t most_dimensions = 3;
  static constexpr std::size_t most_levels = 6;

  ElementType element{};
  Shape shape{};
  /// Sizes of fixed-size arrays within the lists; the outermost first, then zeros.
  std::array<std::uint32_t, most_dimensions> dimensions{};
  bool operator==(const ColumnType&) const = default;

  [[nodiscard]] std::size_t n_levels() const { return static_cast<std::size_t>(shape); }
  /// Values in an item: in each entry of the innermost list, or of the event. 1 without dimensions.
  [[nodiscard]] std::size_t n_in_item() const;
  [[nodiscard]] bool is_text() const { return element == ElementType::character; }
  /// In a tree its values are counted by another branch.
  [[nodiscard]] bool is_counted() const { return shape == Shape::jagged && !is_text(); }
  /// In a tree it is a branch of an object: a vector of vectors, or texts.
  [[nodiscard]] bool is_nested() const { return shape >= Shape::doubly_jagged || is_text(); }
  /// Type with these lists and arrays of these sizes within; none if there are too many of either.
  [[nodiscard]] static std::optional<ColumnType> of(ElementType element, std::size_t n_levels,
                                                    std::span<const std::uint32_t> dimensions);

  [[nodiscard]] std::string name() const;
  /// \throws Error naming the known types.
  [[nodiscard]] static ColumnType parse(std::string_view name);
};

[[nodiscard]] std::size_t size_of(ElementType element);

/// Maps a C++ arithmetic type to its ElementType: `element_type_of<float>`.
template <typename T>
inline constexpr ElementType element_type_of = [] {
  static_assert(sizeof(T) == 0, "not a column element type");
  return ElementType{};
}();
template <>
inline constexpr ElementType element_type_of<bool> = ElementType::boolean;
template <>
inline constexpr ElementType element_type_of<std::int8_t> = ElementType::int8;
template <>
inline constexpr ElementType element_type_of<std::uint8_t> = ElementType::uint8;
template <>
inline constexpr ElementType element_type_of<std::int16_t> = ElementType::int16;
template <>
inline constexpr ElementType element_type_of<std::uint16_t> = ElementType::uint16;
template <>
inline constexpr ElementType element_type_of<std::int32_t> = ElementType::int32;
template <>
inline constexpr ElementType element_type_of<std::uint32_t> = ElementType::uint32;
template <>
inline constexpr ElementType element_type_of<std::int64_t> = ElementType::int64;
template <>
inline constexpr ElementType element_type_of<std::uint64_t> = ElementType::uint64;
template <>
inline constexpr ElementType element_type_of<float> = ElementType::float32;
template <>
inline constexpr ElementType element_type_of<double> = ElementType::float64;
template <>
inline constexpr ElementType element_type_of<char> = ElementType::character;

/// One value per event: `view[event]`.
template <typename T>
using ScalarView = std::span<const T>;

/// Any number of values per event: `view[event]` is a span.
template <typename T>
class JaggedView {
 public:
  JaggedView(std::span<const T> values, std::span<const std::int64_t> offsets)
      : values_{values}, offsets_{offsets} {}
  [[nodiscard]] std::size_t size() const { return offsets_.size() - 1; }
  std::span<const T> operator[](std::size_t event) const {
    const auto first = static_cast<std::size_t>(offsets_[event]);
    return values_.subspan(first, static_cast<std::size_t>(offsets_[event + 1]) - first);
  }
  [[nodiscard]] std::span<const T> values() const { return values_; }
  [[nodiscard]] std::span<const std::int64_t> offsets() const { return offsets_; }

 private:
  std::span<const T> values_;
  std::span<const std::int64_t> offsets_;
};

/// The same number of values in each event: `view[event]` is a span of them; arrays of several
/// dimensions are row after row.
template <typename T>
class FixedView {
 public:
  FixedView(std::span<const T> values, std::size_t n_in_event)
      : values_{values}, n_in_event_{n_in_event} {}
  [[nodiscard]] std::size_t size() const { return values_.size() / n_in_event_; }
  std::span<const T> operator[](std::size_t event) const {
    return values_.subspan(event * n_in_event_, n_in_event_);
  }
  [[nodiscard]] std::span<const T> values() const { return values_; }

 private:
  std::span<const T> values_;
  std::size_t n_in_event_;
};

/// Any number of lists per event: `view[event]` is a JaggedView of them.
template <typename T>
class NestedView {
 public:
  /// `offsets`: of the lists of each event; `inner`: of the values of each list.
  NestedView(std::span<const T> values, std::span<const std::int64_t> offsets,
             std::span<const std::int64_t> inner)
      : values_{values}, offsets_{offsets}, inner_{inner} {}
  [[nodiscard]] std::size_t size() const { return offsets_.size() - 1; }
  JaggedView<T> operator[](std::size_t event) const {
    const auto first = static_cast<std::size_t>(offsets_[event]);
    return {values_,
            inner_.subspan(first, static_cast<std::size_t>(offsets_[event + 1]) - first + 1)};
  }

 private:
  std::span<const T> values_;
  std::span<const std::int64_t> offsets_;
  std::span<const std::int64_t> inner_;
};

/// Text of a column of texts, valid as long as the block.
[[nodiscard]] inline std::string_view text_of(std::span<const char> characters) {
  return {characters.data(), characters.size()};
}

/// Memory of a column. Shared with its arrays in Python, so that an array kept beyond its block
/// stays valid: a column whose memory is still in use takes new memory when refilled.
class Buffer {
 public:
  [[nodiscard]] std::byte* data() { return data_.get(); }
  [[nodiscard]] const std::byte* data() const { return data_.get(); }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  /// Makes room for `n_bytes`; the contents are lost. 64-byte aligned.
  void reserve(std::size_t n_bytes);

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte[], Free> data_;
  std::size_t capacity_{};
};

/// The values of one quantity for the events of a block: contiguous values and, for each level of
/// lists, offsets (the layout of Awkward Array and Arrow). Offsets of level 0, n_events + 1, count
/// items, or the lists of level 1, whose offsets count items.
class Column {
 public:
  Column() = default;
  explicit Column(ColumnType type) : type_{type} {}

  [[nodiscard]] ColumnType type() const { return type_; }
  [[nodiscard]] std::size_t n_events() const { return n_events_; }
  [[nodiscard]] std::size_t n_values() const { return n_values_; }
  /// Lists of a level: level 0 has one for each event.
  [[nodiscard]] std::size_t n_lists(std::size_t level) const {
    return level == 0 ? n_events_ : n_inner_lists_[level - 1];
  }

  /// Before a refill with a new type.
  void reset(ColumnType type) { type_ = type; }

  /// Gives the column a size and writable, uninitialised memory. Earlier contents are lost; their
  /// memory is reused unless something else still holds it. For a scalar column n_values is
  /// n_events times the values in an item.
  std::byte* resize_values(std::size_t n_values);
  /// For `n_lists` of a level: of level 0, one for each event.
  std::span<std::int64_t> resize_offsets(std::size_t n_lists, std::size_t level = 0);
  /// Has the outermost lists of another column, in its memory.
  void share_offsets(const Column& of) {
    n_events_ = of.n_events_;
    offsets_[0] = of.offsets_[0];
  }
  /// Appends the events [first, last) of a column of the same type.
  void append(const Column& from, std::size_t first, std::size_t last);
  /// Has no events until it is filled again, so that a producer that forgets to fill it is
  /// detected.
  void forget() {
    n_events_ = 0;
    n_inner_lists_ = {};
    n_values_ = 0;
  }
  /// For scalar columns; (n_events × values in an item,).
  template <typename T>
  std::span<T> fill_scalar(std::size_t n_events) {
    const auto n = n_events * type_.n_in_item();
    return {reinterpret_cast<T*>(resize_values(n)), n};
  }

  template <typename T>
  [[nodiscard]] std::span<const T> values() const {
    return {reinterpret_cast<const T*>(values_ ? values_->data() : nullptr), n_values_};
  }
  [[nodiscard]] std::span<const std::int64_t> offsets(std::size_t level = 0) const;
  template <typename T>
  [[nodiscard]] FixedView<T> fixed() const {
    return {values<T>(), type_.n_in_item()};
  }
  template <typename T>
  [[nodiscard]] JaggedView<T> jagged() const {
    return {values<T>(), offsets()};
  }
  template <typename T>
  [[nodiscard]] NestedView<T> nested() const {
    return {values<T>(), offsets(), offsets(1)};
  }

  /// Memory that the column holds, including spare room.
  [[nodiscard]] std::size_t n_bytes() const {
    std::size_t n = values_ ? values_->capacity() : 0;
    for (const auto& offsets : offsets_) {
      n += offsets ? offsets->capacity() : 0;
    }
    return n;
  }

  /// The memory itself, to be held by a view that may outlive the block.
  [[nodiscard]] std::shared_ptr<const Buffer> values_buffer() const { return values_; }
  [[nodiscard]] std::shared_ptr<const Buffer> offsets_buffer(std::size_t level = 0) const {
    return offsets_[level];
  }

 private:
  [[nodiscard]] std::span<std::int64_t> append_offsets(std::size_t n_lists, std::size_t level);
  [[nodiscard]] std::size_t& lists_of(std::size_t level) {
    return level == 0 ? n_events_ : n_inner_lists_.at(level - 1);
  }

  ColumnType type_{};
  std::size_t n_events_{};
  std::array<std::size_t, ColumnType::most_levels - 1> n_inner_lists_{};
  std::size_t n_values_{};
  std::shared_ptr<Buffer> values_;
  std::array<std::shared_ptr<Buffer>, ColumnType::most_levels> offsets_;
};

/// Name of the branch that counts the values of a jagged column: "nMuon" for "Muon_pt", "njets" for
/// "jets". A member of objects, "Jet.PT", has a counter of its own, as its name does not tell its
/// collection.
[[nodiscard]] std::string counter_name(const std::string& column);

}  // namespace forkrun
