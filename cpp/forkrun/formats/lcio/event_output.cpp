#include <forkrun/formats/lcio/event_output.hpp>

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>

#include <forkrun/bytes/in_parallel.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/lcio/file_index.hpp>

namespace forkrun::lcio {

namespace {

/// Contents of a file that an output drops.
Dropped dropped_of(const OutputContent& content, const InputRecords& records) {
  std::set<std::string, std::less<>> kept{content.branches.begin(), content.branches.end()};
  Dropped dropped;
  for (const auto& name : records.parameters()) {
    if (!kept.contains("parameters." + name)) {
      dropped.parameters.insert(name);
    }
  }
  for (const auto& name : records.collections()) {
    const auto first = kept.lower_bound(name + ".");
    if (!kept.contains(name) && (first == kept.end() || !first->starts_with(name + "."))) {
      dropped.collections.insert(name);
    }
  }
  return dropped;
}

void refuse_names(const std::string& path, const OutputContent& content,
                  const InputRecords& records) {
  std::set<std::string> both;
  for (const auto& column : content.products) {
    if (records.collections().contains(column.name)) {
      both.insert(column.name);
    }
  }
  if (!both.empty()) {
    throw OutputError(path + ": it has a collection \"" + *both.begin() +
                      "\", and so has the output as a new one; rename the column");
  }
}

}  // namespace

EventInput::EventInput(EventSource& source, bool verifies, std::function<void(std::size_t)> on_open)
    : source_{source}, verifies_{verifies}, on_open_{std::move(on_open)} {}

std::shared_ptr<const InputRecords> EventInput::open(std::uint32_t file) {
  constexpr std::size_t most_open = 16;
  if (const auto known = files_.find(file); known != files_.end()) {
    return known->second;
  }
  if (files_.size() >= most_open) {
    files_.clear();
  }
  if (on_open_) {
    on_open_(file);
  }
  return files_[file] = std::make_shared<const InputRecords>(source_.file(file));
}

std::span<const std::int64_t> EventInput::clusters(std::uint32_t file) {
  return source_.config().clusters.at(file);
}

double EventInput::bytes_per_event(std::uint32_t file) const {
  const auto& clusters = source_.config().clusters.at(file);
  const auto n_events = clusters.empty() ? 0 : clusters.back();
  return static_cast<double>(clusters.size()) * static_cast<double>(cluster_bytes) /
         std::max(1.0, static_cast<double>(n_events));
}

MakeTable EventInput::tables(const OutputContent& content, std::size_t n_threads) {
  return [this, &content, n_threads](const std::string& path) {
    return std::make_unique<EventOutput>(path, *this, content, n_threads);
  };
}

EventOutput::EventOutput(const std::string& path, EventInput& input, const OutputContent& content,
                         std::size_t n_threads)
    : path_{path},
      input_{input},
      content_{content},
      n_threads_{n_threads},
      writer_{path},
      new_{content.products} {}

void EventOutput::open(std::uint32_t file) {
  if (from_ && file_ == file) {
    return;
  }
  auto records = input_.open(file);
  auto dropped = dropped_of(content_, *records);
  const bool is_changed =
      !new_.empty() || !dropped.collections.empty() || !dropped.parameters.empty();
  if (is_changed) {
    refuse_names(path_, content_, *records);
  }
  from_ = std::make_shared<const From>(From{std::move(records), std::move(dropped), is_changed});
  file_ = file;
}

void EventOutput::add(std::span<const EntryRange> entries, std::span<const NewValues> values) {
  for (const auto& range : entries) {
    open(range.file);
    for (auto entry = range.first; entry < range.last; ++entry) {
      const auto& event = from_->records->event(entry);
      n_pending_bytes_ += event.n_data + static_cast<double>(event.end - event.place);
      pending_.push_back({from_, entry});
    }
  }
  new_.add(values);
}

/// Rewritten records of an event.
std::vector<std::byte> EventOutput::made(std::size_t i) const {
  const auto& [from, entry] = pending_[i];
  const auto additions = new_.of_event(i);
  return changed_event(from->records->file(), static_cast<std::size_t>(entry), from->dropped,
                       additions.added);
}

/// Events that follow each other in a file; returns the first that does not.
std::size_t EventOutput::copy_from(std::size_t i) {
  const auto& first = pending_[i];
  auto last = first.entry;
  for (; i < pending_.size() && pending_[i].from == first.from && pending_[i].entry == last; ++i) {
    ++last;
  }
  writer_.copy(*first.from->records, first.entry, last);
  return i;
}

void EventOutput::end_cluster() {
  std::vector<std::vector<std::byte>> records(pending_.size());
  in_parallel(pending_.size(), n_threads_, [&](std::size_t i) {
    const auto& [from, entry] = pending_[i];
    if (from->is_changed) {
      records[i] = made(i);
    } else if (input_.verifies()) {
      from->records->file().check_event(static_cast<std::size_t>(entry));
    }
  });
  for (std::size_t i = 0; i < pending_.size();) {
    if (const auto& [from, entry] = pending_[i]; from->is_changed) {
      writer_.add_event_of(*from->records, entry, records[i]);
      ++i;
    } else {
      i = copy_from(i);
    }
  }
  is_empty_ = is_empty_ && pending_.empty();
  pending_.clear();
  new_.forget();
  n_pending_bytes_ = 0;
}

void EventOutput::finish() {
  if (is_empty_) {  // so that it is a valid LCIO file
    for (const auto& header : input_.open(0)->headers()) {
      writer_.add_header(header);
    }
  }
  writer_.close();
}

void EventOutput::abandon() noexcept { std::remove(path_.c_str()); }

}  // namespace forkrun::lcio
