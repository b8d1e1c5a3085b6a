#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <forkrun/bytes/compression.hpp>
#include <forkrun/formats/rntuple/ntuple_table.hpp>
#include <forkrun/formats/rntuple/output/kept_schema.hpp>
#include <forkrun/formats/rntuple/output/ntuple_input.hpp>
#include <forkrun/formats/rntuple/page_reader.hpp>
#include <forkrun/formats/rntuple/write/pending_column.hpp>

namespace forkrun::rntuple {

/// Which pages are copied as they are.
struct PageTreatment {
  std::optional<Compression> compression{};  ///< of those; none: any
  /// Copies large pages of clusters that are joined with others.
  bool joins_pages{true};
  bool unpacks_copied{};  ///< to see whether that is possible
  bool has_all_fields{};  ///< no file may have others
};

/// The fields of an output that it has as its input has them. Of events that are selected it is
/// noted which values of which list they have, until these are taken column by column: pages of
/// which all values are wanted are copied, others are unpacked, one at a time.
class KeptFields {
 public:
  KeptFields(Schema schema, PageTreatment treatment);
  KeptFields(const KeptFields&) = delete;
  KeptFields& operator=(const KeptFields&) = delete;

  [[nodiscard]] const Schema& schema() const { return schema_; }
  /// Another file. All values of the one before have to be taken. \throws InputError unless it has
  /// these fields.
  void open(std::shared_ptr<const OpenTable> file);
  [[nodiscard]] bool is_open(const OpenTable* file) const { return file_.get() == file; }
  /// Path of the open file, for errors.
  [[nodiscard]] std::string path() const { return file_ ? file_->file->path() : std::string{}; }
  /// Uncompressed bytes in an event of any file. \throws InputError as `open`
  [[nodiscard]] double bytes_per_event(const OpenTable& file);

  /// Adds what will be read of the file that is open for the events of a cluster.
  void add_parts(const EntryRange& cluster, std::vector<StoredPart>& to) const;
  /// Events of the file that is open. Adds where their lists end to `columns`, and notes the rest.
  void add(std::span<const EntryRange> entries, std::span<PendingColumn> columns);
  /// All events of a cluster; nothing else is noted.
  void add_whole(const EntryRange& cluster);
  /// Uncompressed bytes of a column, or of all, that are noted and not taken.
  [[nodiscard]] double n_bytes(std::size_t column) const;
  [[nodiscard]] double n_bytes() const;
  [[nodiscard]] bool has_noted() const { return n_item_ranges_ > 0 || whole_; }
  /// So much is noted that it should be taken.
  [[nodiscard]] bool is_full() const;

  /// Adds what is noted of a column to it. Distinct columns at the same time.
  void take(std::size_t column, PendingColumn& to);
  /// Whether a cluster is kept whole, and the pages that a column has there are copied.
  [[nodiscard]] bool is_copied(std::size_t column) const;
  /// Gives these one after the other, with ROOT's number of their compression.
  void copy(std::size_t column,
            const std::function<void(const SealedPage&, int compression)>& take_page);
  /// All that was noted has been taken.
  void forget();

 private:
  struct Stored {
    Owner owner;
    std::string path{};
    std::unique_ptr<PageReader> pages{};  ///< of the file that is open
    std::unique_ptr<ListReader> lists{};  ///< of ends
    std::vector<std::byte> last_page{};   ///< a small one, of which the last values are
    std::uint64_t n_in_last_page{};       ///< bits of several numbers have the same bytes

    /// Another file. \throws Error
    void open(const PageReader::Of& of, const StoredColumn& column);
  };
  using ItemRanges = std::vector<ItemRange>;

  /// Place of the items that an owner counts, by number of column; entries are the first.
  [[nodiscard]] static std::size_t place_of(const Owner& owner) {
    return owner.ends ? *owner.ends + 1 : 0;
  }
  [[nodiscard]] bool is_ends(std::size_t column) const {
    return is_index(schema_.columns[column].encoding);
  }
  /// By column of the schema, the stored columns of files that are so described.
  struct FoundColumns {
    std::shared_ptr<const Description> in;
    std::vector<Representations> columns;
  };

  [[nodiscard]] std::shared_ptr<const FoundColumns> find_columns(const Ntuple& ntuple);
  void note(std::size_t place, std::span<const ItemRange> items);
  [[nodiscard]] const PagesOfColumn* pages_to_copy(std::size_t column, std::size_t cluster) const;
  [[nodiscard]] bool is_worth_copying(const PagesOfColumn& pages, const PendingColumn& to) const;
  [[nodiscard]] const PagesOfColumn* pages_of_whole(const ItemRange& item_range,
                                                    std::size_t column) const;
  void take(std::span<const ItemRange> item_ranges, std::size_t column, PendingColumn& to);
  void take_whole(const ItemRange& item_range, const PagesOfColumn& pages, std::size_t column,
                  PendingColumn& to);
  void read(std::span<const ItemRange> item_ranges, std::size_t column, PendingColumn& to);
  void take_small(const ItemRange& item_range, Stored& stored, PendingColumn& to);
  template <typename TakePage>
  void for_each_sealed(std::size_t column, std::size_t cluster, const PagesOfColumn& pages,
                       TakePage take_page);

  Schema schema_;
  PageTreatment treatment_;
  std::shared_ptr<const OpenTable> file_;
  const NtupleTable* table_{};
  ClusterBytes bytes_{};
  std::shared_ptr<const FoundColumns> found_;    ///< of what was asked for last
  std::shared_ptr<const FoundColumns> columns_;  ///< of the file that is open
  std::vector<Stored> stored_;                   ///< by column
  std::vector<std::size_t> ends_;                ///< columns of these, those of outer lists first
  std::vector<ItemRanges> noted_;                ///< by place of owners
  std::vector<double> n_noted_;                  ///< items, the same
  std::size_t n_item_ranges_{};
  std::optional<std::size_t> whole_{};  ///< the cluster that is kept whole
};

}  // namespace forkrun::rntuple
