#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <forkrun/core/data/column.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/ttree/layout/branch_layout.hpp>
#include <forkrun/formats/ttree/read/branch_reader.hpp>

class TTree;

namespace forkrun::root_io {

/// A file that was written does not have what it was written from.
class WrittenOtherwise : public Error {
 public:
  using Error::Error;
};

/// A branch with baskets: its top-level branch, and its number among those with baskets within it.
struct FilledPlace {
  BranchPlace top;
  std::size_t number{};
};
/// In the order of `all_branches`.
[[nodiscard]] std::vector<FilledPlace> filled_places(TTree& tree);

/// Checksum of the end of what a basket holds, compressed as it is.
[[nodiscard]] std::uint32_t tail_of(std::span<const std::byte> record, const BasketHeader& header);

/// What a tree that is being written has to hold, by samples of its entries: noted from where they
/// come, by their numbers in the tree. Once its file is complete, it is opened anew, its branches
/// are found by their places, and the samples are compared with what is read there. Of each branch
/// and cluster the entries at the borders are noted: those where events change their file or
/// cluster; of these the first and the last cluster of a branch are compared, and each
/// `period`-th of the others, another one for each branch.
class Samples {
 public:
  static constexpr std::size_t period = 5;

  /// Gives the number of the branch.
  std::size_t add_branch(FilledPlace place);

  // Of distinct branches at the same time.
  /// Entry `to` is to be entry `from` of an input branch.
  void note(std::size_t branch, BranchReader& reader, std::int64_t from, std::int64_t to);
  /// Entry `to` is to be an event's value of a new column.
  void note(std::size_t branch, const Column& column, std::int64_t event, std::int64_t to);
  /// The same of the number of values that it has in a column.
  void note_count(std::size_t branch, const Column& column, std::int64_t event, std::int64_t to);
  /// Entries from `to` on are to be a basket of the input as it is. `tail`: its own.
  void note_basket(std::size_t branch, std::uint32_t tail, const BasketHeader& header,
                   std::int64_t to);

  /// The entries that were noted since the last call are of one cluster.
  void end_cluster();

  /// `path`: of the complete file; `tree`: in it. \throws WrittenOtherwise naming file, branch and
  /// entry.
  void check(const std::string& path, const std::string& tree, std::size_t n_threads) const;

 private:
  struct Entry {
    std::int64_t number{};
    std::uint32_t checksum{};
    std::size_t n_bytes{};
  };
  struct StoredAsIs {
    std::int64_t first_entry{};
    std::int64_t n_entries{};
    std::int32_t n_payload_bytes{};
    std::uint32_t tail{};
  };
  struct Branch {
    FilledPlace place;
    std::vector<Entry> cluster{};  ///< of the present one
    std::vector<Entry> latest{};   ///< of the one before, unless they are in `entries`
    std::vector<Entry> entries{};
    std::size_t n_baskets{};
    std::vector<StoredAsIs> baskets{};
    std::vector<StoredAsIs> latest_basket{};  ///< unless it is in `baskets`
  };
  class WrittenTree;

  void note(std::size_t branch, std::span<const std::byte> entry, std::int64_t to);
  static void check_entries(const Branch& branch, const WrittenTree& tree, BranchReader& reader);
  static void check_baskets(const Branch& branch, const WrittenTree& tree, BranchReader& reader);

  std::vector<Branch> branches_;
  std::size_t n_clusters_{};
};

}  // namespace forkrun::root_io
