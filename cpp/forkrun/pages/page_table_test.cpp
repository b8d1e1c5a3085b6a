#include <forkrun/pages/page_table.hpp>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <system_error>

namespace forkrun::pages {
namespace {

constexpr std::size_t n_pages = 3000;

/// Memory with every page written to.
std::byte* written_pages() {
  const auto size = n_pages * page_size();
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto* bytes = static_cast<std::byte*>(memory);
  for (std::size_t page = 0; page < n_pages; ++page) {
    bytes[page * page_size()] = std::byte{1};
  }
  return bytes;
}

TEST(PageCountsTest, written_memory_is_private_until_a_fork_and_shared_after_it) {
  const auto before = count_pages(0);
  written_pages();
  const auto alone = count_pages(0);
  EXPECT_GE(alone.anonymous_private, before.anonymous_private + n_pages * page_size());
  const auto child = ::fork();
  if (child == 0) {
    ::pause();
  }
  const auto shared = count_pages(child);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_GE(shared.anonymous, n_pages * page_size());
  EXPECT_LT(shared.anonymous_private, 200 * page_size());
  EXPECT_GT(shared.longest_read_ns, 0);
}

TEST(PageCountsTest, a_process_that_is_not_there_is_an_error) {
  EXPECT_THROW(count_pages(0x3FFFFFFF), std::system_error);
}

}  // namespace
}  // namespace forkrun::pages
