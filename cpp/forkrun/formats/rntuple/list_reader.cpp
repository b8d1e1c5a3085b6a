#include <forkrun/formats/rntuple/list_reader.hpp>

#include <forkrun/core/data/errors.hpp>

namespace forkrun::rntuple {

std::shared_ptr<const Lists> ListReader::read(const std::vector<Stretch>& lists) {
  const std::lock_guard lock{mutex_};
  if (!kept_ || asked_ != lists) {
    kept_.reset();
    auto made = std::make_shared<Lists>();
    made->offsets.push_back(0);
    if (lists.size() == 1) {
      pages_.require(lists[0]);  // before memory is taken
      made->offsets.reserve(1 + lists[0].last - lists[0].first);
    }
    for (const auto& each : lists) {
      add(each, *made);
    }
    asked_ = lists;
    kept_ = std::move(made);
  }
  return kept_;
}

void ListReader::forget() {
  const std::lock_guard lock{mutex_};
  kept_.reset();
  asked_ = {};
  ends_ = {};
  pages_.forget();
}

/// What is stored is where each list ends in its cluster; the first one begins at 0.
void ListReader::add(const Stretch& lists, Lists& into) {
  const bool is_first = lists.first == 0;
  const Stretch with_begin{lists.cluster, is_first ? 0 : lists.first - 1, lists.last};
  pages_.require(with_begin);
  ends_.resize(with_begin.last - with_begin.first);
  pages_.read(with_begin, reinterpret_cast<std::byte*>(ends_.data()));
  const auto begin = is_first || ends_.empty() ? 0 : ends_.front();
  auto end = begin;
  const auto shift = into.offsets.back() - begin;
  for (std::size_t i = is_first ? 0 : 1; i < ends_.size(); ++i) {
    if (ends_[i] < end) {
      throw Error(pages_.path() + " is damaged: list " + std::to_string(with_begin.first + i) +
                  " of cluster " + std::to_string(lists.cluster) + " ends before it begins");
    }
    end = ends_[i];
    into.offsets.push_back(end + shift);
  }
  into.items.push_back(
      {lists.cluster, static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end)});
}

}  // namespace forkrun::rntuple
