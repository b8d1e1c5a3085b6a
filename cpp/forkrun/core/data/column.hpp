#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace forkrun {

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
  float64
};
enum class Shape : std::uint8_t { scalar, jagged };

/// The type of a column, written "float32" (one value per event) or "float32[]" (any number).
struct ColumnType {
  ElementType element{};
  Shape shape{};
  bool operator==(const ColumnType&) const = default;

  [[nodiscard]] std::string name() const;
  /// \throws Error naming the types there are.
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

/// Memory of a column. Shared with the arrays of it in Python, so that an array kept beyond
/// its block stays valid: a column whose memory is still looked at takes new memory when refilled.
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

/// The values of one quantity for the events of a block: contiguous values and, when jagged,
/// n_events + 1 offsets (the layout of Awkward Array and Arrow).
class Column {
 public:
  Column() = default;
  explicit Column(ColumnType type) : type_{type} {}

  [[nodiscard]] ColumnType type() const { return type_; }
  [[nodiscard]] std::size_t n_events() const { return n_events_; }
  [[nodiscard]] std::size_t n_values() const { return n_values_; }

  /// Before a refill, when the type is known only then.
  void reset(ColumnType type) { type_ = type; }

  /// Gives the column a size and writable, uninitialised memory; earlier contents are lost, their
  /// memory is used again unless something else still holds it. Of a scalar column n_values is
  /// n_events.
  std::byte* resize_values(std::size_t n_values);
  std::span<std::int64_t> resize_offsets(std::size_t n_events);
  /// Has no events until it is filled again: a producer that forgets one is found out.
  void forget() {
    n_events_ = 0;
    n_values_ = 0;
  }
  /// For scalar columns: n_values = n_events.
  template <typename T>
  std::span<T> fill_scalar(std::size_t n_events) {
    return {reinterpret_cast<T*>(resize_values(n_events)), n_events};
  }

  template <typename T>
  [[nodiscard]] std::span<const T> values() const {
    return {reinterpret_cast<const T*>(values_ ? values_->data() : nullptr), n_values_};
  }
  [[nodiscard]] std::span<const std::int64_t> offsets() const;
  template <typename T>
  [[nodiscard]] JaggedView<T> jagged() const {
    return {values<T>(), offsets()};
  }

  /// Memory that it holds, whatever its size is now.
  [[nodiscard]] std::size_t n_bytes() const {
    return (values_ ? values_->capacity() : 0) + (offsets_ ? offsets_->capacity() : 0);
  }

  /// The memory itself, to be held by a view that may outlive the block.
  [[nodiscard]] std::shared_ptr<const Buffer> values_buffer() const { return values_; }
  [[nodiscard]] std::shared_ptr<const Buffer> offsets_buffer() const { return offsets_; }

 private:
  ColumnType type_{};
  std::size_t n_events_{};
  std::size_t n_values_{};
  std::shared_ptr<Buffer> values_;
  std::shared_ptr<Buffer> offsets_;
};

}  // namespace forkrun
