#include <forkrun/formats/source/event_ids.hpp>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include <forkrun/core/data/errors.hpp>

namespace forkrun::root_io {

namespace {

/// Place and value of the first value that does not fit into `To`.
struct Misfit {
  std::size_t place;
  std::string value;
};

template <typename To, typename From>
std::optional<Misfit> widen(const Column& column, std::vector<To>& into) {
  const auto values = column.values<From>();
  const auto wrong =
      std::ranges::find_if(values, [](From value) { return !std::in_range<To>(value); });
  if (wrong != values.end()) {
    return Misfit{static_cast<std::size_t>(wrong - values.begin()), std::to_string(*wrong)};
  }
  into.resize(values.size());
  std::ranges::transform(values, into.begin(), [](From value) { return static_cast<To>(value); });
  return std::nullopt;
}

template <typename To>
std::optional<Misfit> widen_any(const Column& column, std::vector<To>& into) {
  switch (column.type().element) {
    case ElementType::int16: return widen<To, std::int16_t>(column, into);
    case ElementType::uint16: return widen<To, std::uint16_t>(column, into);
    case ElementType::int32: return widen<To, std::int32_t>(column, into);
    case ElementType::uint32: return widen<To, std::uint32_t>(column, into);
    case ElementType::int64: return widen<To, std::int64_t>(column, into);
    default: return widen<To, std::uint64_t>(column, into);
  }
}

/// Lists, too: of one value in each event, like the members of an event's header.
bool may_be_ids(const ColumnType& type) {
  return (type.shape == Shape::scalar || type.shape == Shape::jagged) && type.n_in_item() == 1 &&
         type.element >= ElementType::int16 && type.element <= ElementType::uint64;
}

/// The first event without exactly one value, and its number of values.
std::optional<Misfit> not_one_value(const Column& column) {
  if (column.type().shape == Shape::scalar) {
    return std::nullopt;
  }
  const auto offsets = column.offsets();
  const auto wrong = std::ranges::adjacent_find(offsets, [](auto a, auto b) { return b - a != 1; });
  return wrong == offsets.end() ? std::optional<Misfit>{}
                                : Misfit{static_cast<std::size_t>(wrong - offsets.begin()),
                                         std::to_string(wrong[1] - wrong[0])};
}

}  // namespace

template <typename T>
EventIds::IdColumn<T>::IdColumn(const Table& table, const std::string& its_path,
                                const std::string& its_name, const char* what)
    : path{its_path}, name{its_name}, number_of{what} {
  if (name.empty()) {
    return;
  }
  reader = table.reader(name);
  const auto type = reader->type();
  if (!type || !may_be_ids(*type)) {
    throw InputError(path + ": branch \"" + name + "\" is " + reader->described_type() +
                     "; an id branch holds one integer per event");
  }
}

template <typename T>
void EventIds::IdColumn<T>::load(std::int64_t first, std::int64_t last) {
  if (!reader) {
    return;
  }
  reader->read(first, last, column);
  const auto shown = [&](const Misfit& misfit) {
    const auto entry = std::to_string(first + static_cast<std::int64_t>(misfit.place));
    return path + ": branch \"" + name + "\", entry " + entry + ": " + misfit.value;
  };
  if (const auto misfit = not_one_value(column)) {
    throw InputError(shown(*misfit) + " values; an id branch holds one integer per event");
  }
  if (const auto misfit = widen_any(column, values)) {
    throw InputError(shown(*misfit) + " is not a valid number of a " + number_of +
                     "; these are from 0 to " + std::to_string(std::numeric_limits<T>::max()));
  }
}

EventIds::EventIds(const Table& table, const std::string& path, const IdBranches& names,
                   std::uint32_t file_number)
    : file_number_{file_number},
      runs_{table, path, names.run, "run"},
      lumis_{table, path, names.lumi, "luminosity section"},
      events_{table, path, names.event, "event"} {}

void EventIds::load(std::int64_t first, std::int64_t last) {
  const auto n = static_cast<std::size_t>(last - first);
  runs_.values.assign(n, 1);
  lumis_.values.assign(n, file_number_ + 1);
  events_.values.resize(n);
  std::iota(events_.values.begin(), events_.values.end(), static_cast<std::uint64_t>(first));
  runs_.load(first, last);
  lumis_.load(first, last);
  events_.load(first, last);
}

void EventIds::add_parts(std::int64_t first, std::int64_t last, std::vector<StoredPart>& to) const {
  for (const auto* reader : {runs_.reader.get(), lumis_.reader.get(), events_.reader.get()}) {
    if (reader != nullptr) {
      reader->add_parts(first, last, to);
    }
  }
}

}  // namespace forkrun::root_io
