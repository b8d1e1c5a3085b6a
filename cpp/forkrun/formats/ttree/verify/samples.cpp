#include <forkrun/formats/ttree/verify/samples.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <utility>

#include <TBranch.h>
#include <TObjArray.h>
#include <TTree.h>

#include <forkrun/bytes/big_endian.hpp>
#include <forkrun/bytes/in_parallel.hpp>
#include <forkrun/formats/ttree/read/input_tree.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>
#include <forkrun/formats/ttree/write/nested_entries.hpp>
#include <forkrun/process/file_checksum.hpp>

namespace forkrun::root_io {

namespace {

/// Of each branch and cluster: the first ones, and the last.
constexpr std::size_t most_of_cluster = 4;
constexpr std::size_t end_bytes = 256;

std::string text_of(const BranchPlace& place) {
  return "branch \"" + place.name + "\"" +
         (place.number > 0 ? " (number " + std::to_string(place.number + 1) + " of this name)"
                           : "");
}

/// The bytes of a column's event as an entry on file.
void add_entry(const Column& column, std::size_t event, Bytes& to) {
  if (column.type().is_nested()) {
    return add_nested_entry(column, event, to);
  }
  const auto value_size = size_of(column.type().element);
  const auto item_size = value_size * column.type().n_in_item();
  const auto offsets = column.offsets();
  const bool is_jagged = column.type().shape == Shape::jagged;
  const auto first = is_jagged ? static_cast<std::size_t>(offsets[event]) : event;
  const auto last = is_jagged ? static_cast<std::size_t>(offsets[event + 1]) : event + 1;
  const auto n_bytes = (last - first) * item_size;
  swap_copy(to.extend(n_bytes), column.values<std::byte>().data() + first * item_size,
            n_bytes / value_size, value_size);
}

}  // namespace

std::vector<FilledPlace> filled_places(TTree& tree) {
  std::vector<FilledPlace> filled;
  BranchPlaces places;
  for (TObject* object : *tree.GetListOfBranches()) {
    auto& top = static_cast<TBranch&>(*object);
    const auto place = places.next(top.GetName());
    const auto n = all_branches(top).filled.size();
    for (std::size_t i = 0; i < n; ++i) {
      filled.push_back({place, i});
    }
  }
  return filled;
}

std::uint32_t tail_of(std::span<const std::byte> record, const BasketHeader& header) {
  const auto payload = record.subspan(static_cast<std::size_t>(header.key_length));
  const auto n = std::min(payload.size(), end_bytes);
  return crc32c(payload.last(n), crc32c(payload.first(n)));  // behind values offsets may follow
}

/// The file that was written, opened as any other one: branches are counted through.
class Samples::WrittenTree {
 public:
  WrittenTree(const std::string& path, const std::string& tree)
      : file_{path}, tree_{file_.input_tree(tree)}, name_{tree} {
    BranchPlaces places;
    std::size_t number = 0;
    for (const auto& branch : tree_.branch_names()) {
      numbers_[places.next(branch)] = number++;
    }
  }

  /// Not in several threads at the same time.
  [[nodiscard]] StoredBranch branch(const FilledPlace& place) {
    const auto number = numbers_.find(place.top);
    if (number == numbers_.end()) {
      fail(place.top, "it is missing");
    }
    if (place.number == 0) {
      auto top = tree_.branch(number->second);
      if (!top.is_split) {
        return top;
      }
    }
    auto& tree = file_.tree(name_);
    if (!tree_of_root_) {
      tree_of_root_ = tree_of_root(tree, name_, file_);
    }
    auto& top = *tree.GetListOfBranches()->At(static_cast<int>(number->second));
    const auto within = all_branches(static_cast<TBranch&>(top)).filled;
    if (place.number >= within.size()) {
      fail(place.top, "branches within it are missing");
    }
    return stored_branch(*within[place.number], *tree_of_root_, file_);
  }
  [[nodiscard]] TreeFile& file() const { return file_; }
  [[noreturn]] void fail(const BranchPlace& place, const std::string& what) const {
    throw WrittenOtherwise(file_.path() + ": tree \"" + name_ + "\", " + text_of(place) + ": " +
                           what + "; please report it, with the input");
  }
  [[noreturn]] void fail(const BranchPlace& place, std::int64_t entry,
                         const std::string& what) const {
    fail(place, "entry " + std::to_string(entry) + " that was written " + what);
  }

 private:
  mutable TreeFile file_;
  const InputTree& tree_;
  std::string name_;
  std::map<BranchPlace, std::size_t> numbers_;
  std::unique_ptr<InputTree> tree_of_root_;
};

std::size_t Samples::add_branch(FilledPlace place) {
  branches_.push_back({std::move(place)});
  return branches_.size() - 1;
}

void Samples::note(std::size_t branch, BranchReader& reader, std::int64_t from, std::int64_t to) {
  note(branch, reader.basket_at(from).entries(from, from + 1), to);
}

void Samples::note(std::size_t branch, const Column& column, std::int64_t event, std::int64_t to) {
  Bytes entry;
  add_entry(column, static_cast<std::size_t>(event), entry);
  note(branch, std::as_const(entry).view(), to);
}

void Samples::note_count(std::size_t branch, const Column& column, std::int64_t event,
                         std::int64_t to) {
  const auto* at = column.offsets().data() + event;
  std::array<std::byte, sizeof(std::int32_t)> count{};
  put_big_endian(count.data(), static_cast<std::int32_t>(at[1] - at[0]));
  note(branch, count, to);
}

void Samples::note(std::size_t branch, std::span<const std::byte> entry, std::int64_t to) {
  auto& cluster = branches_[branch].cluster;
  const Entry noted{to, crc32c(entry), entry.size()};
  if (cluster.size() < most_of_cluster) {
    cluster.push_back(noted);
  } else {
    cluster.back() = noted;
  }
}

void Samples::note_basket(std::size_t branch, std::uint32_t tail, const BasketHeader& header,
                          std::int64_t to) {
  auto& noted = branches_[branch];
  const auto n = noted.n_baskets++;
  const StoredAsIs basket{to, header.n_entries, header.n_bytes - header.key_length, tail};
  noted.latest_basket.clear();
  (n == 0 || (branch + n) % period == 0 ? noted.baskets : noted.latest_basket).push_back(basket);
}

void Samples::end_cluster() {
  for (std::size_t i = 0; i < branches_.size(); ++i) {
    auto& branch = branches_[i];
    branch.latest.clear();
    if (n_clusters_ == 0 || (i + n_clusters_) % period == 0) {
      branch.entries.insert(branch.entries.end(), branch.cluster.begin(), branch.cluster.end());
    } else if (!branch.cluster.empty()) {
      branch.latest.swap(branch.cluster);
    }
    branch.cluster.clear();
  }
  ++n_clusters_;
}

void Samples::check(const std::string& path, const std::string& tree, std::size_t n_threads) const {
  if (branches_.empty()) {
    return;
  }
  try {
    WrittenTree written{path, tree};
    std::vector<StoredBranch> stored;
    for (const auto& branch : branches_) {
      stored.push_back(written.branch(branch.place));
    }
    in_parallel(branches_.size(), n_threads, [&](std::size_t i) {
      BranchReader reader{std::move(stored[i]), written.file()};
      check_entries(branches_[i], written, reader);
      check_baskets(branches_[i], written, reader);
    });
  } catch (const InputError& error) {
    throw WrittenOtherwise(std::string{"what was written cannot be read back: "} + error.what());
  }
}

void Samples::check_entries(const Branch& branch, const WrittenTree& tree, BranchReader& reader) {
  for (const auto* entries : {&branch.entries, &branch.latest, &branch.cluster}) {
    for (const auto& [number, checksum, n_bytes] : *entries) {
      const auto entry = reader.basket_at(number).entries(number, number + 1);
      if (entry.size() != n_bytes || crc32c(entry) != checksum) {
        tree.fail(branch.place.top, number, "is not what it was made of");
      }
    }
  }
}

void Samples::check_baskets(const Branch& branch, const WrittenTree& tree, BranchReader& reader) {
  std::array<std::byte, end_bytes> memory{};
  for (const auto* baskets : {&branch.baskets, &branch.latest_basket}) {
    for (const auto& noted : *baskets) {
      const auto found = std::ranges::lower_bound(reader.baskets(), noted.first_entry, {},
                                                  &StoredBasket::first_entry);
      if (found == reader.baskets().end() || found->first_entry != noted.first_entry ||
          found->n_entries != noted.n_entries || found->n_bytes < noted.n_payload_bytes) {
        tree.fail(branch.place.top, noted.first_entry, "is not the first one of its basket");
      }
      const auto n = std::min(memory.size(), static_cast<std::size_t>(noted.n_payload_bytes));
      const auto bytes = std::span{memory}.first(n);
      const auto end = found->seek + found->n_bytes;
      tree.file().read(end - noted.n_payload_bytes, bytes);
      const auto begin = crc32c(bytes);
      tree.file().read(end - static_cast<std::int64_t>(n), bytes);
      if (crc32c(bytes, begin) != noted.tail) {
        tree.fail(branch.place.top, noted.first_entry, "is in another basket than in the input");
      }
    }
  }
}

}  // namespace forkrun::root_io
