#include <forkrun/pages/page_counts.hpp>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <forkrun/concurrency/cpu_clock.hpp>
#include <forkrun/pages/mapping.hpp>
#include <forkrun/pages/page_table.hpp>

namespace forkrun::pages {

namespace {

void add(PageCounts& counts, const PageEntry& page) {
  if (!page.is_present()) {
    return;
  }
  const auto size = page_size();
  counts.resident += size;
  counts.resident_private += page.is_exclusive() ? size : 0;
  if (!page.is_file()) {
    counts.anonymous += size;
    counts.anonymous_private += page.is_exclusive() ? size : 0;
  }
}

}  // namespace

PageCounts count_pages(pid_t pid) {
  PageCounts counts;
  auto start_ns = thread_cpu_ns();
  const auto note_read = [&] {
    counts.longest_read_ns = std::max(counts.longest_read_ns, thread_cpu_ns() - start_ns);
  };
  const auto mappings = read_mappings(pid);
  const PageTable table{pid};
  for (const auto& mapping : mappings) {
    if (!mapping.is_accessible) {
      continue;
    }
    start_ns = thread_cpu_ns();
    const auto is_alive = for_each_piece(table, mapping.start / page_size(),
                                         mapping.end / page_size(), [&](auto, auto entries) {
                                           note_read();
                                           for (const auto& page : entries) {
                                             add(counts, page);
                                           }
                                           start_ns = thread_cpu_ns();
                                         });
    if (!is_alive) {
      throw std::system_error{ESRCH, std::generic_category(), proc_file(pid, "pagemap")};
    }
  }
  return counts;
}

}  // namespace forkrun::pages
