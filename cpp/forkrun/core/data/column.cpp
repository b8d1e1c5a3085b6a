#include <forkrun/core/data/column.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <new>

#include <forkrun/core/data/errors.hpp>

namespace forkrun {

namespace {

constexpr std::align_val_t alignment{64};

struct ElementDescription {
  std::string_view name;
  std::size_t size;
};

/// In the order of ElementType.
constexpr std::array<ElementDescription, 11> elements{{{"bool", 1},
                                                       {"int8", 1},
                                                       {"uint8", 1},
                                                       {"int16", 2},
                                                       {"uint16", 2},
                                                       {"int32", 4},
                                                       {"uint32", 4},
                                                       {"int64", 8},
                                                       {"uint64", 8},
                                                       {"float32", 4},
                                                       {"float64", 8}}};

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

}  // namespace

std::string ColumnType::name() const {
  return std::string{describe(element).name} + (shape == Shape::jagged ? "[]" : "");
}

ColumnType ColumnType::parse(std::string_view name) {
  const bool jagged = name.ends_with("[]");
  const auto element_name = jagged ? name.substr(0, name.size() - 2) : name;
  const auto* found = std::ranges::find(elements, element_name, &ElementDescription::name);
  if (found == elements.end()) {
    throw Error{"\"" + std::string{name} + "\" is no column type: use one of " +
                names_of_elements() + ", with \"[]\" behind it for any number of values per event"};
  }
  return {static_cast<ElementType>(found - elements.begin()),
          jagged ? Shape::jagged : Shape::scalar};
}

std::size_t size_of(ElementType element) { return describe(element).size; }

void Buffer::reserve(std::size_t n_bytes) {
  if (data_ && n_bytes <= capacity_) {
    return;
  }
  const auto wanted = std::max({n_bytes, capacity_ + capacity_ / 2, std::size_t{64}});
  data_.reset(static_cast<std::byte*>(::operator new(wanted, alignment)));
  capacity_ = wanted;
}

void Buffer::Free::operator()(std::byte* memory) const { ::operator delete(memory, alignment); }

std::byte* Column::resize_values(std::size_t n_values) {
  n_values_ = n_values;
  if (type_.shape == Shape::scalar) {
    n_events_ = n_values;
  }
  return take_memory(values_, n_values * size_of(type_.element));
}

std::span<std::int64_t> Column::resize_offsets(std::size_t n_events) {
  n_events_ = n_events;
  auto* memory = take_memory(offsets_, (n_events + 1) * sizeof(std::int64_t));
  return {reinterpret_cast<std::int64_t*>(memory), n_events + 1};
}

std::span<const std::int64_t> Column::offsets() const {
  static constexpr std::int64_t no_events = 0;
  if (!offsets_) {
    return {&no_events, 1};
  }
  return {reinterpret_cast<const std::int64_t*>(offsets_->data()), n_events_ + 1};
}

}  // namespace forkrun
