#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <forkrun/root_io/branch_layout.hpp>
#include <forkrun/root_io/merge/basket_check.hpp>
#include <forkrun/root_io/read/branch_reader.hpp>
#include <forkrun/root_io/read/tree_source.hpp>

namespace forkrun::root_io {

/// A branch whose entries are copied as bytes.
struct KeptBranch {
  std::string name;      ///< of the top-level branch
  std::size_t number{};  ///< of those with baskets that are within it, itself among them
  std::string form;
};

/// "name, form" of a branch, for comparison with that of another file.
[[nodiscard]] std::string described(TBranch& branch);

/// Whether ROOT has to read and write the entries of a top-level branch: their bytes mean something
/// else in another place, or in another file.
[[nodiscard]] bool is_written_anew(TBranch& top, const InputFile& file);

/// The input of an output, file after file: one of them is open at a time.
class KeptInput {
 public:
  /// `on_open` gets the number of each file just before it is opened.
  KeptInput(const TreeSourceConfig& source, BasketCheck::Depth check,
            std::function<void(std::size_t)> on_open);

  /// The first file, which gives the structure of outputs.
  [[nodiscard]] TreeLane& first_file();
  /// `compares_forms`: branches of objects are among them, which must have one form in all files.
  void set_kept(std::vector<KeptBranch> kept, bool compares_forms);

  /// \throws InputError
  void open(std::uint32_t file);
  /// Changes whenever another file is opened.
  [[nodiscard]] std::uint64_t generation() const { return lane_.generation(); }
  [[nodiscard]] TTree& tree() const { return lane_.tree(); }
  [[nodiscard]] InputFile& file() const { return lane_.file(); }
  /// Of a kept branch, in the file that is open.
  [[nodiscard]] BranchReader& reader(std::size_t kept) { return *readers_[kept]; }
  /// Of baskets that are copied as they are; `branch` in a place is the number of a kept one.
  [[nodiscard]] const BasketCheck& check() const { return *check_; }
  /// Gives back the memory of baskets that were read.
  void forget();

 private:
  void open_lane(std::uint32_t file);

  TreeLane lane_;
  TreeLane first_file_;  ///< opened if `lane_` has another file
  std::uint32_t file_{};
  std::vector<KeptBranch> kept_;
  bool compares_forms_{};
  std::uint64_t readers_generation_{};
  std::vector<std::unique_ptr<BranchReader>> readers_;
  BasketCheck::Depth depth_;
  std::function<void(std::size_t)> on_open_;
  std::optional<BasketCheck> check_;
};

}  // namespace forkrun::root_io
