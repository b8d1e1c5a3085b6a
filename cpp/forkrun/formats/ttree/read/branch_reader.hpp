#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <forkrun/core/data/column.hpp>
#include <forkrun/core/data/entry_ranks.hpp>
#include <forkrun/formats/table/table.hpp>
#include <forkrun/formats/ttree/layout/basket.hpp>
#include <forkrun/formats/ttree/layout/value_form.hpp>
#include <forkrun/formats/ttree/read/form_values.hpp>
#include <forkrun/formats/ttree/read/stored_branch.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>
#include <forkrun/formats/ttree/read/unpacked_room.hpp>

namespace forkrun::root_io {

/// Reads the baskets of one branch, with its own buffers: distinct readers work at the same time.
/// Keeps the basket read last, so that the next block uses it again.
class BranchReader final : public ColumnReader {
 public:
  BranchReader(StoredBranch branch, TreeFile& file);

  [[nodiscard]] const StoredBranch& branch() const { return branch_; }
  [[nodiscard]] const BranchLayout& layout() const { return branch_.layout; }
  [[nodiscard]] std::optional<ColumnType> type() const override { return branch_.layout.column; }
  [[nodiscard]] std::string described_type() const override {
    return branch_.layout.described_type();
  }
  [[nodiscard]] std::string counter() const override { return branch_.layout.counter; }
  [[nodiscard]] std::int64_t n_bytes() const override { return branch_.n_told_bytes; }
  /// Gives back the memory of the basket read last, unless it is kept.
  void forget();
  /// All baskets, in the order of their entries.
  [[nodiscard]] std::span<const StoredBasket> baskets() const { return branch_.baskets; }

  /// \throws InputError
  void read(std::int64_t first, std::int64_t last, Column& into) override;
  void add_parts(std::int64_t first, std::int64_t last, std::vector<StoredPart>& to) const override;

  /// The basket that holds `entry`; valid until the next call. \throws InputError
  const Basket& basket_at(std::int64_t entry);

  /// From now on `entry` of these functions is the rank of one of these entries, of which alone
  /// baskets stay unpacked. Call it before anything is read.
  void keep_only(std::shared_ptr<const EntryRanks> ranks);

  /// Whether the basket that holds `entry` need not be read.
  [[nodiscard]] bool has_unpacked(std::int64_t entry) const;

  /// End of the basket that holds `entry`, without reading it.
  [[nodiscard]] std::int64_t basket_end(std::int64_t entry) const;

 private:
  [[nodiscard]] std::string name_of_kept() const;
  [[nodiscard]] std::size_t find(std::int64_t entry) const;
  void load(std::size_t number);
  [[nodiscard]] bool is_of_other_blocks(std::size_t number) const;
  void unpack(std::size_t number);
  void unpack(std::size_t number, const StoredBasket& stored);
  void load_from_file(std::size_t number);
  [[nodiscard]] bool load_two(std::size_t number);
  std::span<const std::byte> read_record(const StoredBasket& stored, Bytes& record);
  void load_from_tree(const StoredBasket& stored);
  void make_offsets(const StoredBasket& stored);
  [[nodiscard]] std::size_t values_hint(std::int64_t first, std::int64_t last) const;
  void read_scalars(std::int64_t first, std::int64_t last, Column& into);
  void read_jagged(std::int64_t first, std::int64_t last, Column& into);
  void read_fixed(std::int64_t first, std::int64_t last, Column& into);
  void read_form(std::int64_t first, std::int64_t last, Column& into);
  void fill_offsets(const Basket& basket, std::int64_t from, std::span<std::int64_t> offsets) const;
  void copy_values(const Basket& basket, std::int64_t from, std::int64_t end, std::byte* to) const;
  void for_each_basket(std::int64_t first, std::int64_t last,
                       const std::function<void(const Basket&, std::int64_t, std::int64_t)>& use);

  StoredBranch branch_;
  TreeFile& file_;
  std::vector<std::int64_t> starts_;  ///< first entry of each basket, then the number of entries
  std::int64_t wanted_first_ = 0;     ///< of the entries that are being read
  std::int64_t wanted_end_ = 0;
  Bytes record_;
  Bytes values_;
  std::shared_ptr<const EntryForm> form_;  ///< of entries that are taken apart; else null
  FormValues form_values_;
  std::optional<FixedPlace> place_;       ///< of what is taken apart, if it is the same in all
  std::unique_ptr<BranchReader> counts_;  ///< of the values in entries, if offsets are not stored
  BasketsOfBranch* lanes_ = nullptr;      ///< null: no other lane needs what this one reads
  std::shared_ptr<UnpackedBranch> kept_;  ///< null: entries are read as they are stored
  std::shared_ptr<const EntryRanks> ranks_;  ///< null: all entries are kept
  UnpackedBasket own_;
  UnpackedBasket next_;      ///< uncompressed together with the one before it
  std::size_t n_of_next_{};  ///< its number; 0: there is none
  Bytes next_record_;
  std::shared_ptr<const UnpackedBasket> shared_;  ///< in place of `own_`
  const Basket* basket_ = nullptr;                ///< read last
};

}  // namespace forkrun::root_io
