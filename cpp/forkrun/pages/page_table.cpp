#include <forkrun/pages/page_table.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <forkrun/pages/mapping.hpp>

namespace forkrun::pages {

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

}  // namespace forkrun::pages
