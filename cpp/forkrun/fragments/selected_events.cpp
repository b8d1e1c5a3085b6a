#include <forkrun/fragments/selected_events.hpp>

#include <algorithm>
#include <utility>

#include <forkrun/core/data/errors.hpp>

namespace forkrun {

Selected split_off(Selected& from, std::int64_t entry) {
  auto taken = from;
  taken.entries.last = std::min(from.entries.last, entry);
  from.first_event += taken.entries.last - taken.entries.first;
  from.entries.first = taken.entries.last;
  return taken;
}

SelectedEvents::SelectedEvents(const std::vector<FragmentGroup>& groups,
                               const std::vector<ColumnDescription>* columns,
                               const std::function<void(std::size_t)>& before_group)
    : groups_{groups}, columns_{columns}, before_group_{before_group} {}

const Selected* SelectedEvents::front() {
  while (next_.empty()) {
    if (!reader_ && next_group_ == groups_.size()) {
      return nullptr;
    }
    if (!reader_) {
      open_group();
    } else if (auto piece = reader_->next()) {
      add_piece(std::move(*piece));
    } else {
      reader_.reset();
    }
  }
  return &next_.front();
}

Selected SelectedEvents::take_before(std::int64_t entry) {
  auto& rest = next_.front();
  auto taken = split_off(rest, entry);
  if (rest.entries.first == rest.entries.last) {
    next_.pop_front();
  }
  return taken;
}

void SelectedEvents::open_group() {
  if (before_group_) {
    before_group_(next_group_);
  }
  const auto& fragments = groups_[next_group_++].fragments;
  if (fragments.size() == 1) {
    reader_.emplace(open(fragments.front()));
    return;
  }
  reader_.reset();
  for (const auto& path : fragments) {
    auto reader = open(path);
    while (auto piece = reader.next()) {
      add_piece(std::move(*piece));
    }
  }
  std::ranges::sort(next_, {}, [](const auto& selected) {
    return std::pair{selected.entries.file, selected.entries.first};
  });
}

FragmentReader SelectedEvents::open(const std::string& path) {
  FragmentReader fragment{path};
  wanted_.clear();
  const auto& all = fragment.columns();
  for (const auto& column : columns_ != nullptr ? *columns_ : std::vector<ColumnDescription>{}) {
    const auto found = std::ranges::find_if(all, [&](const auto& other) {
      return other.name == column.name && other.type == column.type;
    });
    if (found == all.end()) {
      throw InputError(path + ": has other columns than the output");
    }
    wanted_.push_back(static_cast<std::size_t>(found - all.begin()));
  }
  return fragment;
}

void SelectedEvents::add_piece(FragmentPiece piece) {
  std::vector<Column> wanted;
  for (const auto number : wanted_) {
    wanted.push_back(std::move(piece.columns[number]));
  }
  const auto columns = std::make_shared<const std::vector<Column>>(std::move(wanted));
  std::int64_t first_event = 0;
  for (const auto& entries : piece.entries) {
    if (entries.first < entries.last) {
      next_.push_back({entries, columns, first_event});
    }
    first_event += entries.last - entries.first;
  }
}

}  // namespace forkrun
