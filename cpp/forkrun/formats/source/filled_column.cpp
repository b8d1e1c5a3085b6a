#include <forkrun/formats/source/filled_column.hpp>

#include <algorithm>
#include <utility>

#include <forkrun/core/data/errors.hpp>

namespace forkrun::root_io {

namespace {

/// Calls `use` with a value of the type that these elements have in C++.
template <typename Use>
void with_value_of(ElementType element, const Use& use) {
  switch (element) {
    case ElementType::character:
    case ElementType::boolean: return use(bool{});
    case ElementType::int8: return use(std::int8_t{});
    case ElementType::uint8: return use(std::uint8_t{});
    case ElementType::int16: return use(std::int16_t{});
    case ElementType::uint16: return use(std::uint16_t{});
    case ElementType::int32: return use(std::int32_t{});
    case ElementType::uint32: return use(std::uint32_t{});
    case ElementType::int64: return use(std::int64_t{});
    case ElementType::uint64: return use(std::uint64_t{});
    case ElementType::float32: return use(float{});
    case ElementType::float64: return use(double{});
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

void widen(const Column& from, ColumnType type, Column& to) {
  to.reset(type);
  for (std::size_t level = 0; level < type.n_levels(); ++level) {
    std::ranges::copy(from.offsets(level), to.resize_offsets(from.n_lists(level), level).begin());
  }
  auto* values = to.resize_values(from.n_values());
  with_value_of(from.type().element, [&](auto small) {
    with_value_of(type.element, [&](auto large) {
      std::ranges::transform(from.values<decltype(small)>(),
                             reinterpret_cast<decltype(large)*>(values),
                             [](auto value) { return static_cast<decltype(large)>(value); });
    });
  });
}

FilledColumn::FilledColumn(ColumnType type, double value, std::unique_ptr<ColumnReader> counter)
    : type_{type}, value_{value}, counter_{std::move(counter)} {}

void FilledColumn::read(std::int64_t first, std::int64_t last, Column& into) {
  into.reset(type_);
  const auto n_items = type_.shape == Shape::scalar ? static_cast<std::size_t>(last - first)
                                                    : make_offsets(first, last, into);
  const auto n = n_items * type_.n_in_item();
  auto* to = into.resize_values(n);
  with_value_of(type_.element, [&](auto like) {
    std::fill_n(reinterpret_cast<decltype(like)*>(to), n, static_cast<decltype(like)>(value_));
  });
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
