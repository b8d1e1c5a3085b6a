#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <forkrun/bytes/growing_bytes.hpp>
#include <forkrun/core/data/entry_ranks.hpp>
#include <forkrun/formats/ttree/layout/basket.hpp>
#include <forkrun/formats/ttree/layout/branch_layout.hpp>

namespace forkrun::root_io {

/// A basket with its memory.
struct UnpackedBasket {
  Bytes memory;
  Basket basket;

  [[nodiscard]] std::size_t n_bytes() const {
    return memory.size() + basket.offsets.size() * sizeof(std::int32_t);
  }
};

class UnpackedRoom;

/// The baskets of one branch of one file that stay unpacked. All that read the branch share them,
/// on any threads: each basket is read once, if there is room for it.
class UnpackedBranch {
 public:
  UnpackedBranch(std::shared_ptr<UnpackedRoom> room, std::string name)
      : room_{std::move(room)}, name_{std::move(name)} {}
  UnpackedBranch(const UnpackedBranch&) = delete;
  UnpackedBranch& operator=(const UnpackedBranch&) = delete;
  ~UnpackedBranch();

  [[nodiscard]] bool has(std::size_t number);
  /// The basket with this number, which `unpack` makes if it is not here.
  template <typename Unpack>
  std::shared_ptr<const UnpackedBasket> get(std::size_t number, const Unpack& unpack) {
    auto& place = place_of(number);
    const std::lock_guard lock{place.mutex};
    if (place.basket) {
      return place.basket;
    }
    auto made = std::make_shared<const UnpackedBasket>(unpack());
    keep(made, place.basket);
    return made;
  }

 private:
  using Kept = std::shared_ptr<const UnpackedBasket>;
  struct Place {
    std::mutex mutex;
    Kept basket;  ///< null: not read yet, or there was no room
  };

  Place& place_of(std::size_t number) {
    const std::lock_guard lock{mutex_};
    return places_[number];
  }
  void keep(const Kept& basket, Kept& place);

  std::shared_ptr<UnpackedRoom> room_;
  std::string name_;
  std::mutex mutex_;                      ///< of the map
  std::map<std::size_t, Place> places_;   ///< by number
  std::atomic<std::size_t> n_bytes_ = 0;  ///< of what is kept
};

/// Room for baskets that stay unpacked, because entries are not asked for in the order in which
/// they are stored. Several threads may take of it.
class UnpackedRoom : public std::enable_shared_from_this<UnpackedRoom> {
 public:
  explicit UnpackedRoom(std::size_t n_bytes) : n_free_{static_cast<std::ptrdiff_t>(n_bytes)} {}

  /// Whether there was that much room.
  [[nodiscard]] bool take(std::size_t n_bytes) {
    if (n_free_.fetch_sub(static_cast<std::ptrdiff_t>(n_bytes)) >=
        static_cast<std::ptrdiff_t>(n_bytes)) {
      return true;
    }
    give_back(n_bytes);
    return false;
  }
  void give_back(std::size_t n_bytes) { n_free_ += static_cast<std::ptrdiff_t>(n_bytes); }

  /// The kept baskets of a branch, by a unique name, for as long as somebody holds them.
  [[nodiscard]] std::shared_ptr<UnpackedBranch> of(const std::string& branch) {
    const std::lock_guard lock{mutex_};
    auto& known = branches_[branch];
    auto held = known.lock();
    if (!held) {
      held = std::make_shared<UnpackedBranch>(shared_from_this(), branch);
      known = held;
    }
    return held;
  }
  /// A branch that nobody holds any more, unless it has come back meanwhile.
  void forget(const std::string& branch) {
    const std::lock_guard lock{mutex_};
    if (const auto known = branches_.find(branch);
        known != branches_.end() && known->second.expired()) {
      branches_.erase(known);
    }
  }
  [[nodiscard]] std::size_t n_branches() {
    const std::lock_guard lock{mutex_};
    return branches_.size();
  }

 private:
  std::atomic<std::ptrdiff_t> n_free_;
  std::mutex mutex_;  ///< of the map
  std::map<std::string, std::weak_ptr<UnpackedBranch>> branches_;
};

inline UnpackedBranch::~UnpackedBranch() {
  room_->give_back(n_bytes_);
  room_->forget(name_);
}

inline bool UnpackedBranch::has(std::size_t number) {
  auto& place = place_of(number);
  const std::lock_guard lock{place.mutex};
  return place.basket != nullptr;
}

inline void UnpackedBranch::keep(const Kept& basket, Kept& place) {
  if (room_->take(basket->n_bytes())) {
    n_bytes_ += basket->n_bytes();
    place = basket;
  }
}

// Blocks end within baskets where clusters are larger than blocks, or baskets do not end with
// clusters. Each lane would unpack such a basket for its own block. So the lanes of a source share
// them: who asks first unpacks, who asks meanwhile waits, and the last few stay for those that are
// late. A basket within one block stays with its lane, in memory that is used again.

/// Baskets of one branch of a file that blocks of several lanes need. Any thread.
class BasketsOfBranch {
 public:
  explicit BasketsOfBranch(std::size_t n_kept) : n_kept_{n_kept} {}

  /// The basket with this number, which `unpack` makes if it is not here.
  template <typename Unpack>
  std::shared_ptr<const UnpackedBasket> get(std::size_t number, const Unpack& unpack) {
    const auto place = place_of(number);
    const std::lock_guard lock{place->mutex};
    if (!place->basket) {
      place->basket = std::make_shared<const UnpackedBasket>(unpack());
    }
    return place->basket;
  }

 private:
  struct Place {
    explicit Place(std::size_t of) : number{of} {}
    std::size_t number;
    std::mutex mutex;
    std::shared_ptr<const UnpackedBasket> basket;  ///< null: not unpacked yet
  };

  std::shared_ptr<Place> place_of(std::size_t number) {
    const std::lock_guard lock{mutex_};
    const auto known = std::ranges::find(places_, number, [](const auto& p) { return p->number; });
    if (known != places_.end()) {
      return *known;
    }
    if (places_.size() == n_kept_) {
      places_.pop_front();
    }
    return places_.emplace_back(std::make_shared<Place>(number));
  }

  std::size_t n_kept_;
  std::mutex mutex_;
  std::deque<std::shared_ptr<Place>> places_;  ///< the newest last
};

/// Baskets of one file, for as long as a lane has it open.
class BasketsOfFile {
 public:
  explicit BasketsOfFile(std::size_t n_kept) : n_kept_{n_kept} {}

  /// Baskets of a branch, by a unique name.
  BasketsOfBranch& of(const std::string& branch) {
    const std::lock_guard lock{mutex_};
    return branches_.try_emplace(branch, n_kept_).first->second;
  }

 private:
  std::size_t n_kept_;
  std::mutex mutex_;
  std::map<std::string, BasketsOfBranch> branches_;
};

/// Baskets of the files of a source.
class LaneBaskets {
 public:
  void add_lane() { ++n_lanes_; }
  [[nodiscard]] bool has_several_lanes() const { return n_lanes_ > 1; }
  /// nullptr: there is one lane, which has nobody to share with.
  std::shared_ptr<BasketsOfFile> of_file(const std::string& path) {
    if (!has_several_lanes()) {
      return nullptr;
    }
    const std::lock_guard lock{mutex_};
    std::erase_if(files_, [](const auto& file) { return file.second.expired(); });
    auto& known = files_[path];
    auto held = known.lock();
    if (!held) {
      held = std::make_shared<BasketsOfFile>(n_lanes_ + 1);
      known = held;
    }
    return held;
  }

 private:
  std::atomic<std::size_t> n_lanes_ = 0;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<BasketsOfFile>> files_;  ///< by path
};

/// Each entry holds a whole number of items: one, unless the branch is jagged. Lists, texts and
/// objects are checked as they are taken apart. \throws Error
void check_entries(const Basket& basket, const BranchLayout& layout);

/// A basket with these entries of another one alone, numbered by their ranks. It is `from` itself,
/// with its memory, if that has no other ones; else `from` can be unpacked to again.
[[nodiscard]] UnpackedBasket only(const EntryRanks& ranks, UnpackedBasket& from);

}  // namespace forkrun::root_io
