#include <forkrun/pages/page_table.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>

#include <forkrun/concurrency/cpu_clock.hpp>

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

Mapping parse_mapping(const std::string& line) {
  Mapping mapping;
  std::istringstream words{line};
  std::string mode;
  std::string offset;
  std::string device;
  std::string inode;
  char dash{};
  words >> std::hex >> mapping.start >> dash >> mapping.end >> mode >> offset >> device >> inode;
  std::getline(words >> std::ws, mapping.path);
  mapping.is_accessible = mode.find_first_of("rw") != std::string::npos;
  mapping.is_private = mode.ends_with('p');
  return mapping;
}

}  // namespace

std::string proc_file(pid_t pid, const char* name) {
  return "/proc/" + (pid == 0 ? std::string{"self"} : std::to_string(pid)) + "/" + name;
}

std::vector<Mapping> read_mappings(pid_t pid) {
  const auto path = proc_file(pid, "maps");
  std::ifstream lines{path};
  if (!lines) {
    throw std::system_error{errno, std::generic_category(), path};
  }
  std::vector<Mapping> mappings;
  for (std::string line; std::getline(lines, line);) {
    mappings.push_back(parse_mapping(line));
  }
  return mappings;
}

std::uint64_t page_size() noexcept {
  static const auto size = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

PageTable::PageTable(pid_t pid)
    : file_{::open(proc_file(pid, "pagemap").c_str(), O_RDONLY | O_CLOEXEC)} {
  if (file_ < 0) {
    throw std::system_error{errno, std::generic_category(), proc_file(pid, "pagemap")};
  }
}

PageTable::~PageTable() { ::close(file_); }

bool PageTable::read(std::uint64_t first_page, std::span<PageEntry> entries) const noexcept {
  const auto offset = static_cast<off_t>(first_page * sizeof(PageEntry));
  const auto n_read = ::pread(file_, entries.data(), entries.size_bytes(), offset);
  if (n_read < 0) {
    return false;
  }
  // Above the last address of a process, such as at [vsyscall], there is nothing to read.
  std::ranges::fill(entries.subspan(static_cast<std::size_t>(n_read) / sizeof(PageEntry)),
                    PageEntry{});
  return true;
}

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
