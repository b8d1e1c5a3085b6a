#include <forkrun/pages/page_watch.hpp>

#include <cerrno>
#include <system_error>

#include <forkrun/pages/page_table.hpp>

namespace forkrun::pages {

PageWatch::PageWatch(std::size_t n_children) {
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
}

void PageWatch::sample(std::size_t child, Border border) {
  const std::unique_lock lock{mutex_, std::try_to_lock};
  if (!lock) {
    return;
  }
  if (!table_) {
    table_.emplace(0);
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

std::vector<std::uint64_t> PageWatch::pages_at_fork() const {
  std::vector<std::uint64_t> pages;
  for_each_page([&](std::uint64_t page, std::size_t) { pages.push_back(page); });
  return pages;
}

}  // namespace forkrun::pages
