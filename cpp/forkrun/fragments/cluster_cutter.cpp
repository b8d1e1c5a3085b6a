#include <forkrun/fragments/cluster_cutter.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include <forkrun/core/data/unit_of_work.hpp>
#include <forkrun/fragments/least_copied.hpp>

namespace forkrun {

namespace {

/// Limit to the growth of a cluster by events that are larger than the mean.
constexpr double largest = 2;
/// The size of a cluster is measured after so many events, or this part of a cluster.
constexpr std::int64_t largest_step = 1024;
constexpr double step_of_cluster = 0.125;

}  // namespace

std::pair<std::int64_t, std::int64_t> cluster_around(std::span<const std::int64_t> begins,
                                                     std::int64_t entry, std::int64_t last) {
  const auto next = std::ranges::upper_bound(begins, entry);
  return {next == begins.begin() ? 0 : *(next - 1), next == begins.end() ? last : *next};
}

std::size_t first_file(std::span<const std::vector<std::int64_t>> clusters) {
  auto first = std::ranges::find_if(clusters, [](const auto& each) { return each.size() > 1; });
  if (first == clusters.end()) {
    first = std::ranges::find_if(clusters, [](const auto& each) { return !each.empty(); });
  }
  return first == clusters.end() ? 0 : static_cast<std::size_t>(first - clusters.begin());
}

ClusterCutter::ClusterCutter(double wanted_bytes, bool keeps_whole, InputOf input_of,
                             ClusterSink& sink)
    : wanted_bytes_{wanted_bytes},
      keeps_whole_{keeps_whole},
      input_of_{std::move(input_of)},
      sink_{sink} {}

const InputClusters& ClusterCutter::input(std::uint32_t file) {
  if (file_ != file) {
    input_ = input_of_(file);
    file_ = file;
  }
  return input_;
}

void ClusterCutter::add(const EntryRange& entries) {
  if (file_ && entries.file != *file_) {
    end_input_cluster();
  }
  const auto begins = input(entries.file).begins;
  for (auto first = entries.first; first < entries.last;) {
    const auto [begin, end] = cluster_around(begins, first, entries.last);
    const auto last = std::min(end, entries.last);
    add_within_cluster({entries.file, first, last}, begin, end);
    first = last;
  }
}

void ClusterCutter::add_within_cluster(const EntryRange& entries, std::int64_t first,
                                       std::int64_t last) {
  if (!section_.empty() && section_first_ != first) {
    end_input_cluster();
  }
  section_first_ = first;
  section_last_ = last;
  append(section_, entries);
}

void ClusterCutter::end_input_cluster() {
  if (section_.empty()) {
    return;
  }
  const auto& first = section_.front();
  const auto n_events = section_last_ - section_first_;
  const bool is_whole = keeps_whole_ && section_.size() == 1 && first.first == section_first_ &&
                        first.last == section_last_;
  if (is_whole && is_worth_copying(static_cast<double>(n_events) * input_.bytes_per_event,
                                   wanted_bytes_, least_copied::part_of_cluster)) {
    end_cluster();
    sink_.add_whole(first);
    sink_.end_cluster(n_events);
  } else {
    collect(section_);
  }
  section_.clear();
}

void ClusterCutter::collect(std::span<const EntryRange> entries) {
  std::vector<EntryRange> part;
  const auto add_part = [&] {
    if (!part.empty()) {
      sink_.add(part);
      part.clear();
    }
  };
  for (auto range : entries) {
    while (range.first < range.last) {
      const auto room = std::max(wanted_bytes_ - collected_bytes_, 0.0) / input_.bytes_per_event;
      const auto n_most = std::max<std::int64_t>(1, std::llround(std::min(room, 1e15)));
      const auto n = std::min({range.last - range.first, n_most, next_step_ - n_collected_});
      part.push_back({range.file, range.first, range.first + n});
      range.first += n;
      n_collected_ += n;
      collected_bytes_ += static_cast<double>(n) * input_.bytes_per_event;
      if (n == n_most) {
        add_part();
        end_cluster();
      } else if (n_collected_ == next_step_) {
        add_part();
        end_of_step();
      }
    }
  }
  add_part();
}

void ClusterCutter::end_of_step() {
  if (sink_.n_bytes() >= largest * wanted_bytes_) {
    end_cluster();
  } else {
    const auto n_wanted = step_of_cluster * wanted_bytes_ / input_.bytes_per_event;
    const auto n_most = std::llround(std::min(n_wanted, 1e15));
    next_step_ += std::min(next_step_, std::max<std::int64_t>(n_most, largest_step));
  }
}

void ClusterCutter::end_cluster() {
  next_step_ = 1;
  if (n_collected_ > 0) {
    sink_.end_cluster(std::exchange(n_collected_, 0));
  }
  collected_bytes_ = 0;
}

void ClusterCutter::finish() {
  end_input_cluster();
  end_cluster();
}

}  // namespace forkrun
