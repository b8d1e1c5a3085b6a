#include <forkrun/formats/lcio/file_index.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <forkrun/bytes/content_digest.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/data/is_text.hpp>
#include <forkrun/formats/lcio/columns.hpp>

namespace forkrun::lcio {

namespace {

/// Columns of consecutive events.
class ColumnsFound {
 public:
  explicit ColumnsFound(const EventFile& file) {
    for (auto& column : event_columns()) {
      add(std::move(column));
    }
    for (const auto& run : file.runs()) {
      for (const auto& parameter : run.header.parameters) {
        add({std::string{parameters_of_run} + std::string{parameter.name}, type_of(parameter)});
      }
    }
  }

  /// `event`: number of the event in the file.
  void add(const EventHeader& header, const EventFile& file, std::size_t event) {
    for (const auto& parameter : header.parameters) {
      add({"parameters." + std::string{parameter.name}, type_of(parameter)});
    }
    for (const auto& [name, type_name, is_subset] : header.collections) {
      const auto type = is_subset ? ObjectType::reference : object_type(type_name);
      const auto [known, is_new] = types_.emplace(name, type);
      if (!is_new && known->second != type) {
        throw InputError("collection \"" + std::string{name} + "\" is of type " +
                         std::string{type_name} + ", and of another in an event before");
      }
      if (is_new && type != ObjectType::none) {
        add_collection(file, event, name, type);
      }
    }
  }

  [[nodiscard]] std::vector<ColumnDescription> take() { return std::move(columns_); }

 private:
  /// Its parameters are those of the first event that has it.
  void add_collection(const EventFile& file, std::size_t event, std::string_view name,
                      ObjectType type) {
    for (auto& column : collection_columns(name, type)) {
      add(std::move(column));
    }
    if (loaded_ != event) {
      const std::shared_ptr<const EventFile> borrowed{std::shared_ptr<const EventFile>{}, &file};
      const auto first = static_cast<std::int64_t>(event);
      events_.load({{borrowed, first, first + 1}});
      loaded_ = event;
    }
    events_.parameters(name, [&](const Parameters& parameters) {
      for (const auto& parameter : parameters) {
        add({std::string{name} + ".parameters." + std::string{parameter.name}, type_of(parameter)});
      }
      if (members_of(type).find("particleIDs.pdg") >= 0) {
        for (auto& column : particle_id_columns(name, parameters)) {
          add(std::move(column));
        }
      }
    });
  }

  /// The first of two with one name. Names that are not text are no columns.
  void add(ColumnDescription column) {
    if (is_text(column.name) && names_.insert(column.name).second) {
      columns_.push_back(std::move(column));
    }
  }

  WantedMembers nothing_;
  EventBlock events_{nothing_};
  std::optional<std::size_t> loaded_;  ///< number of the event that is in `events_`
  std::vector<ColumnDescription> columns_;
  std::set<std::string, std::less<>> names_;
  std::map<std::string, ObjectType, std::less<>> types_;
};

std::vector<std::int64_t> clusters_of(const std::vector<StoredEvent>& events) {
  std::vector<std::int64_t> begins;
  std::int64_t n_bytes = cluster_bytes;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const auto n = static_cast<std::int64_t>(events[i].n_data) + events[i].end - events[i].place;
    if (n_bytes + n > cluster_bytes) {
      begins.push_back(static_cast<std::int64_t>(i));
      n_bytes = 0;
    }
    n_bytes += n;
  }
  begins.push_back(std::ssize(events));
  return begins;
}

/// Run and number of the header at each place; for run headers the number is -1.
using Places = std::map<std::int64_t, std::pair<std::int32_t, std::int32_t>>;

/// Compares the file's own indexes with the events.
void check_indexes(const EventFile& file, Places found) {
  constexpr std::int32_t of_run = -1;
  for (const auto& run : file.runs()) {
    found[run.head.place] = {run.header.run, of_run};
  }
  for (const auto& head : file.indexes()) {
    try {
      for (const auto& [run, event, place] : index_entries(file.restored(head))) {
        const auto at = found.find(place);
        if (at == found.end() || at->second != std::pair{run, event}) {
          throw InputError("the index says that " +
                           (event == of_run ? "the header" : "event " + std::to_string(event)) +
                           " of run " + std::to_string(run) + " is at byte " +
                           std::to_string(place) + ", where it is not");
        }
      }
    } catch (...) {
      rethrow_with_context(file.path() + ": at byte " + std::to_string(head.place));
    }
  }
}

}  // namespace

FileIndex index_file(const EventFile& file, std::uint32_t events_per_lumi) {
  FileIndex index;
  ColumnsFound found{file};
  ContentDigest digest;
  Places places;
  digest.add(static_cast<std::uint64_t>(file.n_bytes()));
  for (std::size_t event = 0; event < file.events().size(); ++event) {
    const auto place = file.events()[event].place;
    try {
      const auto data = file.restored(file.head_at(place));
      const auto header = event_header(data);
      const auto id = id_of(header, events_per_lumi);
      index.events.push_back(id);
      places.emplace_hint(places.end(), place, std::pair{header.run, header.event});
      for (const auto number : {std::uint64_t{id.run}, id.event, static_cast<std::uint64_t>(place),
                                static_cast<std::uint64_t>(header.time_stamp)}) {
        digest.add(number);
      }
      found.add(header, file, event);
    } catch (...) {
      rethrow_with_context(file.path() + ": header of entry " + std::to_string(event) +
                           ", at byte " + std::to_string(place));
    }
  }
  check_indexes(file, std::move(places));
  index.identity = digest.value();
  index.clusters = clusters_of(file.events());
  index.columns = found.take();
  return index;
}

std::vector<ColumnDescription> columns_named(const std::string& path,
                                             const std::vector<ColumnDescription>& columns,
                                             const std::vector<std::string>& names) {
  std::vector<ColumnDescription> found;
  for (const auto& name : names) {
    const auto of = std::ranges::find(columns, name, &ColumnDescription::name);
    if (of != columns.end()) {
      found.push_back(*of);
    } else if (name.starts_with("event/")) {
      found.push_back({name, {ElementType::uint32, Shape::scalar}});
    } else {
      throw InputError(path + ": unknown column \"" + name + "\"");
    }
  }
  return found;
}

}  // namespace forkrun::lcio
