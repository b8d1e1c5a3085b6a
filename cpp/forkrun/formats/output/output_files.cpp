#include <forkrun/formats/output/output_files.hpp>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/data/unit_of_work.hpp>
#include <forkrun/formats/table/output_table.hpp>
#include <forkrun/fragments/cluster_cutter.hpp>
#include <forkrun/fragments/selected_events.hpp>

namespace forkrun::root_io {

namespace {

/// Unpacked bytes of events: some windows of packed ones.
constexpr double most_bytes_ahead = 64 << 20;
constexpr double least_bytes_ahead = 48 << 20;

double n_events_in(const EntryRange& cluster) {
  return static_cast<double>(cluster.last - cluster.first);
}

}  // namespace

/// The next events not yet looked at; nullptr: none.
const Selected* ClustersAhead::front() {
  try {
    return is_unreadable_ ? nullptr : events_.front();
  } catch (const Error&) {
    is_unreadable_ = true;
    return nullptr;
  }
}

EntryRange ClustersAhead::take(std::int64_t before_entry) {
  const auto taken = events_.take_before(before_entry).entries;
  n_seen_ += taken.last - taken.first;
  return taken;
}

std::vector<EntryRange> ClustersAhead::next(std::uint32_t file, std::int64_t n_taken,
                                            const ClusterOf& cluster_of, double bytes_per_event,
                                            bool copies_whole) {
  while (!ahead_.empty() && ahead_.front().end <= n_taken) {
    ahead_.pop_front();
  }
  double n_bytes = 0;
  for (const auto& each : ahead_) {
    n_bytes += bytes_per_event * n_events_in(each.cluster);
  }
  std::vector<EntryRange> more;
  if (n_bytes >= least_bytes_ahead) {
    return more;
  }
  for (const auto* next = front(); next != nullptr && n_bytes < most_bytes_ahead; next = front()) {
    if (n_seen_ < n_taken) {
      const auto last = next->entries.first + (n_taken - n_seen_);
      static_cast<void>(take(std::min(next->entries.last, last)));
      continue;
    }
    if (next->entries.file != file) {
      break;
    }
    const auto cluster = cluster_of(next->entries);
    const auto taken = take(cluster.last);
    if (!ahead_.empty() && ahead_.back().cluster.first == cluster.first) {
      ahead_.back().end = n_seen_;
    } else if (!copies_whole || cluster.first < taken.first || taken.last < cluster.last) {
      ahead_.push_back({cluster, n_seen_});
      more.push_back(cluster);
      n_bytes += bytes_per_event * n_events_in(cluster);
    }
  }
  return more;
}

/// New columns of events that were read and not yet written, in order.
class ValueQueue {
 public:
  void push(const Selected& selected) {
    const auto n = selected.entries.last - selected.entries.first;
    auto* before = parts_.empty() ? nullptr : &parts_.back();
    if (before != nullptr && before->columns == selected.columns &&
        before->events.last == selected.first_event) {
      before->events.last += n;
    } else {
      parts_.push_back({selected.columns, {selected.first_event, selected.first_event + n}});
    }
  }
  /// Columns of the next n events; valid until the next `drop`.
  [[nodiscard]] std::vector<NewValues> next(std::int64_t n) const {
    std::vector<NewValues> values;
    for (auto part = parts_.begin(); n > 0; ++part) {
      const auto last = std::min(part->events.last, part->events.first + n);
      values.push_back({part->columns.get(), {part->events.first, last}});
      n -= last - part->events.first;
    }
    return values;
  }
  void drop(std::int64_t n) {
    while (n > 0) {
      auto& part = parts_.front();
      const auto taken = std::min(n, part.events.last - part.events.first);
      part.events.first += taken;
      n -= taken;
      if (part.events.first == part.events.last) {
        parts_.pop_front();
      }
    }
  }

 private:
  struct Part {
    std::shared_ptr<const std::vector<Column>> columns;
    EntryRun events;
  };
  std::deque<Part> parts_;
};

/// Writes the clusters of a table, with the new columns of their events.
class TableSink final : public ClusterSink {
 public:
  TableSink(OutputTable& table, std::function<void(std::int64_t)> progress)
      : table_{table}, progress_{std::move(progress)} {}

  void push(const Selected& selected) { values_.push(selected); }
  void add(std::span<const EntryRange> entries) override {
    const auto n = n_events_of(entries);
    table_.add(entries, values_.next(n));
    values_.drop(n);
  }
  void add_whole(const EntryRange& entries) override {
    const auto n = entries.last - entries.first;
    table_.add_whole(entries, values_.next(n));
    values_.drop(n);
  }
  [[nodiscard]] double n_bytes() const override { return table_.n_pending_bytes(); }
  void end_cluster(std::int64_t n_events) override {
    table_.end_cluster();
    n_events_ += n_events;
    if (progress_) {
      progress_(n_events_);
    }
  }
  [[nodiscard]] std::int64_t n_events() const { return n_events_; }

 private:
  OutputTable& table_;
  std::function<void(std::int64_t)> progress_;
  ValueQueue values_;
  std::int64_t n_events_{};
};

/// One file, while it is made.
class FileMaker {
 public:
  FileMaker(const OutputToMake& made, const FileToMake& output, OutputInput& input,
            const MakeTable& make_table, std::function<void(std::int64_t)> progress)
      : output_{output},
        on_written_{made.on_written},
        table_{make_table(output.path)},
        sink_{*table_, std::move(progress)},
        cutter_{table_->wanted_cluster_bytes(), table_->keeps_whole(), inputs(input, *table_),
                sink_} {}

  /// Takes the first of these entries that belong in this file; none if the first one does not.
  [[nodiscard]] std::optional<Selected> take(Selected& from) {
    if (output_.entries.empty()) {
      return split_off(from, from.entries.last);
    }
    const auto has_first = [&](const auto& mine) {
      return mine.file == from.entries.file && mine.first <= from.entries.first &&
             from.entries.first < mine.last;
    };
    const auto& entries = output_.entries;
    auto range = std::find_if(next_, entries.end(), has_first);
    if (range == entries.end()) {
      range = std::find_if(entries.begin(), next_, has_first);
      if (range == next_) {
        return {};
      }
    }
    next_ = range;
    return split_off(from, range->last);
  }
  void add(const Selected& selected) {
    sink_.push(selected);
    cutter_.add(selected.entries);
  }
  void expect(std::span<const EntryRange> clusters) { table_->expect(clusters); }
  [[nodiscard]] double bytes_per_event(std::uint32_t file) { return table_->bytes_per_event(file); }
  [[nodiscard]] bool reads_copies_ahead() const { return table_->reads_copies_ahead(); }
  void end_input_cluster() { cutter_.end_input_cluster(); }
  std::int64_t finish() {
    cutter_.finish();
    table_->finish();
    if (on_written_) {
      on_written_(output_.path);
    }
    table_->check();
    return sink_.n_events();
  }
  [[nodiscard]] double most_pending_bytes(std::int64_t n_events) {
    const auto all = static_cast<double>(n_events) * table_->bytes_per_event();
    return std::min(all, table_->wanted_cluster_bytes());
  }

 private:
  static ClusterCutter::InputOf inputs(OutputInput& input, OutputTable& table) {
    return [&](std::uint32_t number) -> InputClusters {
      return {input.clusters(number), table.bytes_per_event(number)};
    };
  }

  const FileToMake& output_;
  const std::function<void(const std::string&)>& on_written_;
  /// The range of `entries` with the latest events: the next ones are in it, or soon after it.
  std::vector<EntryRange>::const_iterator next_{output_.entries.begin()};
  std::unique_ptr<OutputTable> table_;
  TableSink sink_;
  ClusterCutter cutter_;
};

OutputMaker::OutputMaker(const OutputToMake& output, OutputInput& input, std::size_t n_threads)
    : output_{output},
      input_{input},
      make_table_{input.tables(output.content, n_threads)},
      events_{output.fragments,
              output.content.goes_with_events ? nullptr : &output.content.products,
              output.before_group} {
  open();
}

OutputMaker::~OutputMaker() = default;

/// Announces ranges of a remote file that this cluster and the next ones with events need.
void OutputMaker::expect(const EntryRange& cluster) {
  if (!input_.is_remote(cluster.file)) {
    return;
  }
  if (!ahead_) {
    ahead_.emplace(output_.fragments);
  }
  const auto cluster_of = [&](const EntryRange& entries) -> EntryRange {
    const auto [first, last] =
        cluster_around(input_.clusters(entries.file), entries.first, entries.last);
    return {entries.file, first, last};
  };
  const auto clusters =
      ahead_->next(cluster.file, n_taken_, cluster_of, file_->bytes_per_event(cluster.file),
                   file_->reads_copies_ahead());
  if (!clusters.empty()) {
    file_->expect(clusters);
  }
}

void OutputMaker::add(const EntryRange& cluster) {
  bool has_some = false;
  for (const auto* next = events_.front();
       next != nullptr && next->entries.file == cluster.file &&
       cluster.first <= next->entries.first && next->entries.first < cluster.last;
       next = events_.front()) {
    if (!has_some) {
      expect(cluster);
    }
    auto selected = events_.take_before(cluster.last);
    n_taken_ += selected.entries.last - selected.entries.first;
    add(std::move(selected));
    has_some = true;
  }
  if (has_some) {
    file_->end_input_cluster();
  }
}

void OutputMaker::add(Selected selected) {
  while (selected.entries.first < selected.entries.last) {
    if (const auto taken = file_->take(selected)) {
      file_->add(*taken);
    } else {
      close();
      open();
    }
  }
}

std::vector<std::int64_t> OutputMaker::finish() {
  close();
  while (n_events_.size() < output_.files.size()) {
    open();
    close();
  }
  return n_events_;
}

double OutputMaker::most_pending_bytes() { return file_->most_pending_bytes(output_.n_events); }

void OutputMaker::open() {
  if (n_events_.size() == output_.files.size()) {
    throw Error("an event is in none of the output's files");
  }
  file_ = std::make_unique<FileMaker>(output_, output_.files[n_events_.size()], input_, make_table_,
                                      [this](std::int64_t n_events) {
                                        if (output_.progress) {
                                          output_.progress(n_before_ + n_events);
                                        }
                                      });
}

void OutputMaker::close() {
  n_events_.push_back(file_->finish());
  n_before_ += n_events_.back();
  file_.reset();
}

}  // namespace forkrun::root_io
