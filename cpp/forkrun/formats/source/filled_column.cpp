#include <forkrun/formats/source/filled_column.hpp>

#include <algorithm>
#include <utility>

#include <forkrun/core/data/errors.hpp>

namespace forkrun::root_io {

namespace {

template <typename T>
void fill(std::byte* to, std::size_t n, double value) {
  std::fill_n(reinterpret_cast<T*>(to), n, static_cast<T>(value));
}

void fill(ElementType element, std::byte* to, std::size_t n, double value) {
  switch (element) {
    case ElementType::character:
    case ElementType::boolean: return fill<bool>(to, n, value);
    case ElementType::int8: return fill<std::int8_t>(to, n, value);
    case ElementType::uint8: return fill<std::uint8_t>(to, n, value);
    case ElementType::int16: return fill<std::int16_t>(to, n, value);
    case ElementType::uint16: return fill<std::uint16_t>(to, n, value);
    case ElementType::int32: return fill<std::int32_t>(to, n, value);
    case ElementType::uint32: return fill<std::uint32_t>(to, n, value);
    case ElementType::int64: return fill<std::int64_t>(to, n, value);
    case ElementType::uint64: return fill<std::uint64_t>(to, n, value);
    case ElementType::float32: return fill<float>(to, n, value);
    case ElementType::float64: return fill<double>(to, n, value);
  }
  throw Error("a column has an unknown type of elements");
}

/// Little-endian, like this host.
std::int64_t count_at(const Column& counts, std::size_t event) {
  const auto size = size_of(counts.type().element);
  std::uint64_t count = 0;
  std::copy_n(counts.values<std::byte>().data() + event * size, size,
              reinterpret_cast<std::byte*>(&count));
  return static_cast<std::int64_t>(count);
}

}  // namespace

FilledColumn::FilledColumn(ColumnType type, double value, std::unique_ptr<ColumnReader> counter)
    : type_{type}, value_{value}, counter_{std::move(counter)} {}

void FilledColumn::read(std::int64_t first, std::int64_t last, Column& into) {
  into.reset(type_);
  const auto n_items = type_.shape == Shape::scalar ? static_cast<std::size_t>(last - first)
                                                    : make_offsets(first, last, into);
  const auto n = n_items * type_.n_in_item();
  fill(type_.element, into.resize_values(n), n, value_);
}

/// Returns the number of items: none for texts and lists of lists, which are empty.
std::size_t FilledColumn::make_offsets(std::int64_t first, std::int64_t last, Column& into) {
  const auto n_events = static_cast<std::size_t>(last - first);
  auto offsets = into.resize_offsets(n_events);
  std::ranges::fill(offsets, 0);
  for (std::size_t level = 1; level < type_.n_levels(); ++level) {
    into.resize_offsets(0, level)[0] = 0;
  }
  if (!counter_) {
    return 0;
  }
  Column counts;
  counter_->read(first, last, counts);
  for (std::size_t i = 0; i < n_events; ++i) {
    offsets[i + 1] = offsets[i] + count_at(counts, i);
  }
  return static_cast<std::size_t>(offsets.back());
}

}  // namespace forkrun::root_io
