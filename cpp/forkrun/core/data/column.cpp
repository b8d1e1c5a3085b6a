#include <forkrun/core/data/column.hpp>

#include <malloc.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstring>
#include <new>
#include <utility>

#include <forkrun/core/data/errors.hpp>

namespace forkrun {

namespace {

constexpr std::align_val_t alignment{64};

struct ElementDescription {
  std::string_view name;
  std::size_t size;
};

/// In the order of ElementType.
constexpr std::array<ElementDescription, 12> elements{{{"bool", 1},
                                                       {"int8", 1},
                                                       {"uint8", 1},
                                                       {"int16", 2},
                                                       {"uint16", 2},
                                                       {"int32", 4},
                                                       {"uint32", 4},
                                                       {"int64", 8},
                                                       {"uint64", 8},
                                                       {"float32", 4},
                                                       {"float64", 8},
                                                       {"string", 1}}};

const ElementDescription& describe(ElementType element) {
  return elements[static_cast<std::size_t>(element)];
}

std::string names_of_elements() {
  std::string names;
  for (const auto& element : elements) {
    names += (names.empty() ? "" : ", ") + std::string{element.name};
  }
  return names;
}

std::atomic<std::int64_t> of_all_buffers{};

std::int64_t usable_bytes(std::byte* memory) {
  return static_cast<std::int64_t>(::malloc_usable_size(memory));
}

/// Memory for `n_bytes`: the column's own if nothing else holds it, else new memory.
std::byte* take_memory(std::shared_ptr<Buffer>& buffer, std::size_t n_bytes) {
  if (!buffer || buffer.use_count() > 1) {
    buffer = std::make_shared<Buffer>();
  }
  // The last holder of the memory may have read it on another thread: those reads come first.
  std::atomic_thread_fence(std::memory_order_acquire);
  buffer->reserve(n_bytes);
  return buffer->data();
}

/// The same, keeping `n_used` bytes, with room for more.
std::byte* grow_memory(std::shared_ptr<Buffer>& buffer, std::size_t n_used, std::size_t n_bytes) {
  if (n_used == 0 || (buffer.use_count() == 1 && n_bytes <= buffer->capacity())) {
    return take_memory(buffer, n_bytes);
  }
  const auto before = std::exchange(buffer, nullptr);
  auto* const memory = take_memory(buffer, std::max(n_bytes, 2 * n_used));
  std::memcpy(memory, before->data(), n_used);
  return memory;
}

}  // namespace

std::size_t ColumnType::n_in_item() const {
  std::size_t n = 1;
  for (const auto size : dimensions) {
    n *= std::max<std::size_t>(size, 1);
  }
  return n;
}

std::optional<ColumnType> ColumnType::of(ElementType element, std::size_t n_levels,
                                         std::span<const std::uint32_t> dimensions) {
  ColumnType type{element, static_cast<Shape>(n_levels)};
  if (n_levels > most_levels || dimensions.size() > most_dimensions ||
      (!dimensions.empty() && type.is_text())) {
    return {};
  }
  std::ranges::copy(dimensions, type.dimensions.begin());
  return type;
}

std::string ColumnType::name() const {
  std::string name{describe(element).name};
  for (std::size_t level = is_text() ? 1 : 0; level < n_levels(); ++level) {
    name += "[]";
  }
  for (const auto size : dimensions) {
    if (size != 0) {
      name.append("[").append(std::to_string(size)).append("]");
    }
  }
  return name;
}

namespace {

[[noreturn]] void refuse_type(std::string_view name) {
  throw Error{"\"" + std::string{name} + "\" is not a column type: use one of " +
              names_of_elements() +
              ", followed by \"[]\" for any number of values per event, \"[][]\" for lists of"
              " lists, \"[4]\" for four values"};
}

/// Takes the size in brackets off the end; 0 if there are no brackets. \throws Error
std::uint32_t take_brackets(std::string_view& rest, std::string_view name) {
  const auto end = rest.find(']');
  if (rest.front() != '[' || end == std::string_view::npos) {
    refuse_type(name);
  }
  const auto digits = rest.substr(1, end - 1);
  rest.remove_prefix(end + 1);
  std::uint32_t size = 0;
  if (!digits.empty()) {
    const auto [after, error] = std::from_chars(digits.begin(), digits.end(), size);
    if (error != std::errc{} || after != digits.end() || size == 0) {
      refuse_type(name);
    }
  }
  return size;
}

}  // namespace

ColumnType ColumnType::parse(std::string_view name) {
  const auto element_name = name.substr(0, name.find('['));
  const auto* found = std::ranges::find(elements, element_name, &ElementDescription::name);
  if (found == elements.end()) {
    refuse_type(name);
  }
  ColumnType type{static_cast<ElementType>(found - elements.begin())};
  std::size_t n_levels = type.is_text() ? 1 : 0;
  std::size_t n_dimensions = 0;
  for (auto rest = name.substr(element_name.size()); !rest.empty();) {
    const auto size = take_brackets(rest, name);
    if (size == 0 && n_dimensions == 0 && n_levels < most_levels) {
      ++n_levels;
    } else if (size > 0 && n_dimensions < most_dimensions && !type.is_text()) {
      type.dimensions.at(n_dimensions++) = size;
    } else {
      refuse_type(name);
    }
  }
  type.shape = static_cast<Shape>(n_levels);
  return type;
}

std::size_t size_of(ElementType element) { return describe(element).size; }

void Buffer::reserve(std::size_t n_bytes) {
  if (data_ && n_bytes <= capacity_) {
    return;
  }
  const auto wanted = std::max({n_bytes, capacity_ + capacity_ / 2, std::size_t{64}});
  data_.reset(static_cast<std::byte*>(::operator new(wanted, alignment)));
  of_all_buffers += usable_bytes(data_.get());
  capacity_ = wanted;
}

void Buffer::Free::operator()(std::byte* memory) const {
  of_all_buffers -= usable_bytes(memory);
  ::operator delete(memory, alignment);
}

std::int64_t bytes_of_all_columns() { return of_all_buffers; }

std::byte* Column::resize_values(std::size_t n_values) {
  n_values_ = n_values;
  if (type_.shape == Shape::scalar) {
    n_events_ = n_values / type_.n_in_item();
  }
  return take_memory(values_, n_values * size_of(type_.element));
}

std::span<std::int64_t> Column::resize_offsets(std::size_t n_lists, std::size_t level) {
  lists_of(level) = n_lists;
  auto* memory = take_memory(offsets_.at(level), (n_lists + 1) * sizeof(std::int64_t));
  return {reinterpret_cast<std::int64_t*>(memory), n_lists + 1};
}

/// Returns the offset up to which there are lists, and room for `n_lists` more after it.
std::span<std::int64_t> Column::append_offsets(std::size_t n_lists, std::size_t level) {
  auto& n_present = lists_of(level);
  const auto n_before = std::exchange(n_present, n_present + n_lists);
  const auto n_used = n_before == 0 ? 0 : n_before + 1;
  auto* const memory = grow_memory(offsets_.at(level), n_used * sizeof(std::int64_t),
                                   (n_before + n_lists + 1) * sizeof(std::int64_t));
  const std::span offsets{reinterpret_cast<std::int64_t*>(memory), n_before + n_lists + 1};
  offsets[0] = 0;
  return offsets.subspan(n_before);
}

void Column::append(const Column& from, std::size_t first, std::size_t last) {
  for (std::size_t level = 0; level < type_.n_levels(); ++level) {
    const auto offsets = from.offsets(level).subspan(first, last - first + 1);
    const auto to = append_offsets(last - first, level);
    const auto shift = to[0] - offsets[0];
    std::ranges::transform(offsets, to.begin(), [shift](auto offset) { return offset + shift; });
    first = static_cast<std::size_t>(offsets.front());
    last = static_cast<std::size_t>(offsets.back());
  }
  n_events_ += type_.shape == Shape::scalar ? last - first : 0;
  const auto n_bytes = type_.n_in_item() * size_of(type_.element);
  const auto n_used = n_values_ * size_of(type_.element);
  auto* const memory = grow_memory(values_, n_used, n_used + (last - first) * n_bytes);
  if (first < last) {
    std::memcpy(memory + n_used, from.values_->data() + first * n_bytes, (last - first) * n_bytes);
  }
  n_values_ += (last - first) * type_.n_in_item();
}

std::span<const std::int64_t> Column::offsets(std::size_t level) const {
  static constexpr std::int64_t no_events = 0;
  if (!offsets_.at(level)) {
    return {&no_events, 1};
  }
  return {reinterpret_cast<const std::int64_t*>(offsets_[level]->data()), n_lists(level) + 1};
}

std::string counter_name(const std::string& column) {
  const bool is_member = column.find('.') != std::string::npos;
  return std::string{"n"}.append(column, 0, is_member ? std::string::npos : column.find('_'));
}

}  // namespace forkrun
