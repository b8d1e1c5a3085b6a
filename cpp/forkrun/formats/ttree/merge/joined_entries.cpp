#include <forkrun/formats/ttree/merge/joined_entries.hpp>

#include <algorithm>
#include <thread>

#include <forkrun/bytes/in_parallel.hpp>
#include <forkrun/formats/table/cluster_size.hpp>

namespace forkrun::root_io {

namespace {

/// Steps may grow so much: entries that come may be larger than those before.
constexpr std::int64_t growth = 4;

std::size_t n_threads_for(double n_bytes) {
  return n_threads_worth(n_bytes, std::thread::hardware_concurrency());
}

}  // namespace

void JoinedEntries::add(const Readers& readers, std::span<const RowRange> rows) {
  for (const auto& range : rows) {
    for (auto first = range.first; first < range.last;) {
      const EntryRun entries{first, std::min(first + step_, range.last)};
      collect(readers, entries);
      first = entries.last;
    }
  }
}

void JoinedEntries::collect(const Readers& readers, const EntryRun& entries) {
  const auto n_bytes_before = n_pending_bytes();
  in_parallel(writers_.size(), n_threads_for(step_bytes_),
              [&](std::size_t i) { writers_[i].copy(*readers[i], {&entries, 1}); });
  const auto n_after = n_pending_bytes();
  const auto n = entries.last - entries.first;
  if (static_cast<double>(n_after) >= wanted_cluster_bytes(writers_.size())) {
    flush();
  }
  step_ = std::min(step_, growth * n);
  choose_step(static_cast<double>(n_after - n_bytes_before) / static_cast<double>(n));
}

/// As many entries as the present cluster has room for.
void JoinedEntries::choose_step(double entry_bytes) {
  const auto room = wanted_cluster_bytes(writers_.size()) - static_cast<double>(n_pending_bytes());
  const auto most = static_cast<double>(growth * step_);
  step_ = static_cast<std::int64_t>(std::clamp(room / std::max(entry_bytes, 1.0), 1.0, most));
  step_bytes_ = static_cast<double>(step_) * entry_bytes;
}

std::size_t JoinedEntries::n_pending_bytes() const {
  std::size_t n_bytes = 0;
  for (const auto& writer : writers_) {
    n_bytes += writer.n_pending_bytes();
  }
  return n_bytes;
}

void JoinedEntries::flush() {
  in_parallel(writers_.size(), n_threads_for(static_cast<double>(n_pending_bytes())),
              [&](std::size_t i) { writers_[i].encode(); });
  for (auto& writer : writers_) {
    writer.write(output_);
  }
}

}  // namespace forkrun::root_io
