#include <forkrun/formats/ttree/verify/samples.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <utility>

#include <TBranch.h>
#include <TObjArray.h>
#include <TTree.h>

#include <forkrun/bytes/in_parallel.hpp>
#include <forkrun/formats/ttree/read/branch_reader.hpp>
#include <forkrun/formats/ttree/read/input_tree.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>
#include <forkrun/process/file_checksum.hpp>

namespace forkrun::root_io {

namespace {

/// Bytes read at a time: the end of a basket, the header of the next one and its first bytes.
constexpr std::size_t window_bytes = 1024;
constexpr std::size_t baskets_at_a_time = 1024;

std::string text_of(const BranchPlace& place) {
  return "branch \"" + place.name + "\"" +
         (place.number > 0 ? " (number " + std::to_string(place.number + 1) + " of this name)"
                           : "");
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

namespace {

/// The file that was written, opened as any other one: branches are counted through.
class WrittenTree {
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
  /// It reads in any thread.
  [[nodiscard]] TreeFile& file() const { return file_; }
  [[noreturn]] void fail(const BranchPlace& place, const std::string& what) const {
    throw VerificationFailed(file_.path() + ": tree \"" + name_ + "\", " + text_of(place) + ": " +
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

/// The payload of a basket, on file.
struct Payload {
  std::int64_t begin{};
  std::size_t branch{};
  const BranchSamples::BasketEnds* noted{};
};

/// Reads a little more than it is asked for, which is most often what comes next.
class Window {
 public:
  explicit Window(TreeFile& file) : file_{file} {}

  [[nodiscard]] std::span<const std::byte> at(std::int64_t begin, std::size_t n) {
    if (begin < begin_ || begin + static_cast<std::int64_t>(n) > end_) {
      const auto left = static_cast<std::size_t>(file_.size() - begin);
      const auto size = std::max(n, std::min(window_bytes, left));
      file_.read(begin, std::span{memory_}.first(size));
      begin_ = begin;
      end_ = begin + static_cast<std::int64_t>(size);
    }
    return std::span{memory_}.subspan(static_cast<std::size_t>(begin - begin_), n);
  }

 private:
  TreeFile& file_;
  std::array<std::byte, window_bytes> memory_{};
  std::int64_t begin_{};
  std::int64_t end_{};
};

std::uint32_t ends_of(Window& file, const Payload& payload) {
  const auto n_payload = payload.noted->n_payload_bytes;
  const auto n = std::min(end_bytes, static_cast<std::size_t>(n_payload));
  const auto begin = crc32c(file.at(payload.begin, n));
  return crc32c(file.at(payload.begin + n_payload - static_cast<std::int64_t>(n), n), begin);
}

/// Compares a file with what its branches have to hold.
class Comparison {
 public:
  Comparison(const std::string& path, const std::string& tree,
             std::span<const SampledBranch> branches)
      : branches_{branches}, written_{path, tree} {
    for (const auto& branch : branches) {
      stored_.push_back(written_.branch(branch.place));
    }
  }

  void check_baskets(std::size_t n_threads) {
    const auto payloads = find_payloads();
    const auto n = (payloads.size() + baskets_at_a_time - 1) / baskets_at_a_time;
    in_parallel(n, n_threads, [&](std::size_t i) {
      const auto from = std::span{payloads}.subspan(i * baskets_at_a_time);
      check_ends(from.first(std::min(from.size(), baskets_at_a_time)));
    });
  }

  void check_entries(std::size_t n_threads) {
    in_parallel(branches_.size(), n_threads, [&](std::size_t i) {
      const auto entries = branches_[i].samples->entries();
      if (entries.empty()) {
        return;
      }
      BranchReader reader{std::move(stored_[i]), written_.file()};
      for (const auto& noted : entries) {
        const auto number = noted.number;
        if (!BranchSamples::agrees(noted, reader.basket_at(number).entries(number, number + 1))) {
          written_.fail(branches_[i].place.top, number, "is not what it was made of");
        }
      }
    });
  }

 private:
  /// In the order in which they lie in the file.
  [[nodiscard]] std::vector<Payload> find_payloads() const {
    std::vector<Payload> payloads;
    for (std::size_t i = 0; i < branches_.size(); ++i) {
      auto stored = stored_[i].baskets.begin();
      const auto end = stored_[i].baskets.end();
      for (const auto& noted : branches_[i].samples->baskets()) {
        while (stored != end && stored->first_entry < noted.first_entry) {
          ++stored;
        }
        if (stored == end || stored->first_entry != noted.first_entry ||
            stored->n_entries != noted.n_entries || stored->n_bytes < noted.n_payload_bytes) {
          written_.fail(branches_[i].place.top, noted.first_entry,
                        "is not the first one of its basket");
        }
        payloads.push_back({stored->seek + stored->n_bytes - noted.n_payload_bytes, i, &noted});
      }
    }
    std::ranges::sort(payloads, {}, &Payload::begin);
    return payloads;
  }

  void check_ends(std::span<const Payload> payloads) const {
    Window window{written_.file()};
    for (const auto& payload : payloads) {
      if (ends_of(window, payload) != payload.noted->checksum) {
        written_.fail(branches_[payload.branch].place.top, payload.noted->first_entry,
                      "is not in the basket that was made of it");
      }
    }
  }

  std::span<const SampledBranch> branches_;
  WrittenTree written_;
  std::vector<StoredBranch> stored_;
};

}  // namespace

std::vector<SampledBranch> sampled(std::span<const FilledPlace> places,
                                   std::span<const BranchWriter> writers) {
  std::vector<SampledBranch> branches;
  for (std::size_t i = 0; i < places.size(); ++i) {
    branches.push_back({places[i], &writers[i].samples()});
  }
  return branches;
}

void check_samples(const std::string& path, const std::string& tree,
                   std::span<const SampledBranch> branches, std::size_t n_threads) {
  if (branches.empty()) {
    return;
  }
  try {
    Comparison comparison{path, tree, branches};
    comparison.check_baskets(n_threads);
    comparison.check_entries(n_threads);
  } catch (const InputError& error) {
    throw VerificationFailed(std::string{"what was written cannot be read back: "} + error.what());
  }
}

}  // namespace forkrun::root_io
