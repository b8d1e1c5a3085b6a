#include <forkrun/pages/page_watch.hpp>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <vector>

namespace forkrun::pages {
namespace {

constexpr std::size_t n_watched = 2000;

class PageWatchTest : public testing::Test {
 protected:
  PageWatchTest() {
    for (std::size_t page = 0; page < n_watched; ++page) {
      write_to(page);
    }
  }
  ~PageWatchTest() override { ::munmap(memory, n_watched * page_size()); }

  void write_to(std::size_t page) {
    memory[page * page_size()] = static_cast<std::byte>(page % 7 + 1);
  }

  /// Borders of our pages that are noted for a child, by page.
  [[nodiscard]] std::vector<PageWatch::Border> borders(const PageWatch& watch,
                                                       std::size_t child) const {
    std::vector<PageWatch::Border> result(n_watched);
    const auto first = reinterpret_cast<std::uintptr_t>(memory) / page_size();
    for (const auto& [page, border] : watch.found(child)) {
      if (page >= first && page < first + n_watched) {
        result[page - first] = border;
      }
    }
    return result;
  }

  template <typename Body>
  static void in_child(const Body& body) {
    const auto child = ::fork();
    if (child == 0) {
      body();
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }

  std::byte* memory = static_cast<std::byte*>(::mmap(
      nullptr, n_watched* page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
};

TEST_F(PageWatchTest, every_page_is_noted_after_the_border_at_which_it_was_written_to) {
  PageWatch watch{2};
  in_child([&] {
    write_to(5);
    watch.sample(1, 1);
    write_to(5);
    write_to(1999);
    watch.sample(1, 2);
  });
  std::vector<PageWatch::Border> expected(n_watched);
  expected[5] = 1;
  expected[1999] = 2;
  EXPECT_EQ(borders(watch, 1), expected);
  EXPECT_EQ(borders(watch, 0), std::vector<PageWatch::Border>(n_watched));
}

TEST_F(PageWatchTest, pages_that_were_only_read_stay_in_common) {
  PageWatch watch{1};
  in_child([&] {
    auto sum = 0;
    for (std::size_t page = 0; page < n_watched; ++page) {
      sum += static_cast<int>(static_cast<volatile std::byte&>(memory[page * page_size()]));
    }
    watch.sample(0, 1);
    ::_exit(sum == 0 ? 1 : 0);
  });
  EXPECT_EQ(borders(watch, 0), std::vector<PageWatch::Border>(n_watched));
}

TEST_F(PageWatchTest, new_memory_in_the_place_of_freed_pages_is_not_counted) {
  PageWatch watch{1};
  in_child([&] {
    ::madvise(memory, n_watched * page_size(), MADV_DONTNEED);
    watch.sample(0, 1);
    write_to(7);
    watch.sample(0, 2);
  });
  EXPECT_EQ(borders(watch, 0), std::vector<PageWatch::Border>(n_watched));
}

TEST_F(PageWatchTest, new_memory_is_noted_after_the_border_at_which_it_was_written_to) {
  constexpr auto n_bytes = 64 << 20;
  PageWatch watch{2};
  in_child([&] {
    watch.sample(1, 1, true);
    std::vector<std::byte> own(n_bytes, std::byte{1});
    watch.sample(1, 7, true);
    std::vector<std::byte>{}.swap(own);
    watch.sample(1, 9, true);
  });
  auto grown = watch.grown(1);
  const auto tolerance = n_bytes / 16;  // the kernel's counts lag behind by some pages of each CPU
  EXPECT_LE(std::abs(grown[7] - n_bytes), tolerance);
  EXPECT_LE(std::abs(grown[9] + n_bytes), tolerance);
  EXPECT_TRUE(watch.grown(0).empty());
}

TEST_F(PageWatchTest, pages_that_cost_too_much_time_wait_for_a_sample_that_needs_them) {
  PageWatch watch{1, -1e9};  // no time at all
  in_child([&] {
    watch.sample(0, 1, true);
    write_to(5);
    watch.sample(0, 2);
    watch.sample(0, 3, true);
  });
  EXPECT_EQ(borders(watch, 0)[5], 3);
}

TEST_F(PageWatchTest, all_pages_of_the_fork_are_known) {
  const PageWatch watch{1};
  const auto pages = watch.pages_at_fork();
  const auto first = reinterpret_cast<std::uintptr_t>(memory) / page_size();
  const auto place = std::ranges::lower_bound(pages, first);
  ASSERT_GE(pages.end() - place, static_cast<std::ptrdiff_t>(n_watched));
  EXPECT_EQ(*place, first);
  EXPECT_EQ(place[n_watched - 1], first + n_watched - 1);
}

}  // namespace
}  // namespace forkrun::pages
