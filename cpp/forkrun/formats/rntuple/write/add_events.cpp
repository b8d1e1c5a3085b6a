#include <forkrun/formats/rntuple/write/add_events.hpp>

#include <cstring>

namespace forkrun::rntuple {

void add_ends(std::span<const std::int64_t> offsets, PendingColumn& ends) {
  const auto shift = ends.last_end() - offsets[0];
  auto* to = ends.extend(offsets.size() - 1);
  for (const auto offset : offsets.subspan(1)) {
    const auto end = offset + shift;
    std::memcpy(to, &end, sizeof end);
    to += sizeof end;
  }
}

void add_events(const Column& from, const EntryRun& events, const FieldPlace& place,
                std::span<PendingColumn> columns) {
  if (!place.values) {
    return;
  }
  auto first = static_cast<std::size_t>(events.first);
  auto last = static_cast<std::size_t>(events.last);
  for (std::size_t level = 0; level < place.ends.size(); ++level) {
    const auto offsets = from.offsets(level).subspan(first, last - first + 1);
    if (level > 0 || !place.shares_ends) {
      add_ends(offsets, columns[place.ends[level]]);
    }
    first = static_cast<std::size_t>(offsets.front());
    last = static_cast<std::size_t>(offsets.back());
  }
  const auto n_in_item = from.type().n_in_item();
  const auto n_bytes = (last - first) * n_in_item * size_of(from.type().element);
  auto* to = columns[*place.values].extend((last - first) * n_in_item);
  if (n_bytes > 0) {
    const auto* values = from.values_buffer()->data();
    std::memcpy(to, values + first * n_in_item * size_of(from.type().element), n_bytes);
  }
}

}  // namespace forkrun::rntuple
