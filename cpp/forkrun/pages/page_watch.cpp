#include <forkrun/pages/page_watch.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <system_error>

#include <forkrun/pages/page_table.hpp>

namespace forkrun::pages {

namespace {

constexpr double granted_s = 0.01;
constexpr double least_pause_s = 2e-4;  // reading the size takes some microseconds

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double cpu_s(clockid_t of) {
  timespec time{};
  ::clock_gettime(of, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

int open_statm() { return ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC); }

/// Resident memory of no file, from a file of /proc/PID/statm; -1: unknown.
std::int64_t read_anonymous_bytes(int file) {
  char text[128]{};
  if (::pread(file, text, sizeof text - 1, 0) <= 0) {
    return -1;
  }
  char* at = text;
  std::strtoll(at, &at, 10);
  const std::int64_t resident = std::strtoll(at, &at, 10);
  const std::int64_t of_files = std::strtoll(at, &at, 10);
  return (resident - of_files) * static_cast<std::int64_t>(page_size());
}

}  // namespace

PageWatch::PageWatch(std::size_t n_children, double max_share) : max_share_{max_share} {
  for (const auto& mapping : read_mappings(0)) {
    if (mapping.is_private && mapping.is_accessible) {
      const auto first = mapping.start / page_size();
      const auto last = mapping.end / page_size();
      ranges_.push_back({first, last, n_places_});
      n_places_ += last - first;
    }
  }
  at_fork_ = std::make_unique<SharedArray<std::uint8_t>>(n_places_);
  borders_ = std::make_unique<SharedArray<Border>>(n_places_ * n_children);
  grown_ = std::make_unique<SharedArray<std::int64_t>>(n_children * (last_border + 1));
  const PageTable table{0};
  for (const auto& range : ranges_) {
    auto place = range.place;
    const auto is_read =
        for_each_piece(table, range.first_page, range.last_page, [&](auto, auto entries) {
          for (const auto& page : entries) {
            at_fork_->values()[place++] = page.is_present() && !page.is_file() ? 1 : 0;
          }
        });
    if (!is_read) {
      throw std::system_error{errno, std::generic_category(), proc_file(0, "pagemap")};
    }
  }
  const auto file = open_statm();
  anonymous_bytes_ = read_anonymous_bytes(file);
  ::close(file);
}

void PageWatch::sample(std::size_t child, Border border, bool is_needed) {
  const std::unique_lock lock{mutex_, std::try_to_lock};
  if (!lock) {
    return;
  }
  const auto at_s = now_s();
  if (is_needed || at_s > grown_s_ + least_pause_s) {
    grown_s_ = at_s;
    note_growth(child, border);
  }
  const auto share_s = max_share_ * (cpu_s(CLOCK_PROCESS_CPUTIME_ID) - start_cpu_s_);
  if (is_needed || spent_s_ <= granted_s + share_s) {
    const auto begin_s = cpu_s(CLOCK_THREAD_CPUTIME_ID);
    note_pages(child, border);
    spent_s_ += cpu_s(CLOCK_THREAD_CPUTIME_ID) - begin_s;
  }
}

void PageWatch::note_growth(std::size_t child, Border border) {
  if (statm_ < 0) {
    statm_ = open_statm();
  }
  const auto now_bytes = read_anonymous_bytes(statm_);
  if (anonymous_bytes_ >= 0 && now_bytes >= 0) {
    grown_->values()[child * (last_border + 1) + border] += now_bytes - anonymous_bytes_;
  }
  anonymous_bytes_ = now_bytes;
}

void PageWatch::note_pages(std::size_t child, Border border) {
  if (!table_) {
    table_.emplace(0);
    start_cpu_s_ = cpu_s(CLOCK_PROCESS_CPUTIME_ID);
  }
  for (const auto& range : ranges_) {
    auto place = range.place;
    static_cast<void>(
        for_each_piece(*table_, range.first_page, range.last_page, [&](auto, auto entries) {
          for (const auto& page : entries) {
            note(child, border, place++, page);
          }
        }));
  }
}

void PageWatch::note(std::size_t child, Border border, std::size_t place, const PageEntry& page) {
  if (at_fork_->values()[place] == 0) {
    return;
  }
  auto& noted = borders_->values()[child * n_places_ + place];
  if (noted != 0) {
    return;
  }
  if (!page.is_present()) {
    noted = gone;
  } else if (page.is_exclusive() && !page.is_file()) {
    noted = border;
  }
}

template <typename Visit>
void PageWatch::for_each_page(const Visit& visit) const {
  for (const auto& range : ranges_) {
    for (auto page = range.first_page; page < range.last_page; ++page) {
      const auto place = range.place + (page - range.first_page);
      if (at_fork_->values()[place] != 0) {
        visit(page, place);
      }
    }
  }
}

std::vector<PageWatch::Private> PageWatch::found(std::size_t child) const {
  std::vector<Private> found;
  for_each_page([&](std::uint64_t page, std::size_t place) {
    const auto noted = borders_->values()[child * n_places_ + place];
    if (noted != 0 && noted != gone) {
      found.push_back({page, noted});
    }
  });
  return found;
}

std::map<PageWatch::Border, std::int64_t> PageWatch::grown(std::size_t child) const {
  std::map<Border, std::int64_t> found;
  for (Border border = 0; border <= last_border; ++border) {
    if (const auto bytes = grown_->values()[child * (last_border + 1) + border]; bytes != 0) {
      found.emplace(border, bytes);
    }
  }
  return found;
}

std::vector<std::uint64_t> PageWatch::pages_at_fork() const {
  std::vector<std::uint64_t> pages;
  for_each_page([&](std::uint64_t page, std::size_t) { pages.push_back(page); });
  return pages;
}

}  // namespace forkrun::pages
