#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <forkrun/bytes/growing_bytes.hpp>
#include <forkrun/core/data/column.hpp>
#include <forkrun/formats/rntuple/field_column.hpp>
#include <forkrun/formats/rntuple/ntuple.hpp>
#include <forkrun/formats/rntuple/page_values.hpp>
#include <forkrun/formats/table/table.hpp>

namespace forkrun::root_io {

class InputFile;
}

namespace forkrun::rntuple {

/// Bytes of clusters of which all pages are wanted, and which are small: a thousand pages are read
/// at once.
class ClusterBytes {
 public:
  /// Nothing if they are many, or lie far apart; of a server other things read ahead.
  void read(const Cluster& cluster, std::span<const Representations> columns,
            const root_io::InputFile& file);
  /// These bytes of the file, if it has them. Any thread.
  [[nodiscard]] std::optional<std::span<const std::byte>> find(const ByteRange& range) const;
  /// Drops the bytes, since another file is read.
  void forget();

 private:
  struct Part {
    std::int64_t place{};
    Bytes bytes;
  };
  std::vector<Part> parts_;
  std::uint64_t n_bytes_{};
};

}  // namespace forkrun::rntuple

namespace forkrun::rntuple {

/// Values [first, last) of a column in a cluster, by their numbers in it.
struct ItemRange {
  std::size_t cluster{};
  std::uint64_t first{};
  std::uint64_t last{};
  bool operator==(const ItemRange&) const = default;
};

[[nodiscard]] inline bool are_same(std::span<const std::byte> one,
                                   std::span<const std::byte> other) {
  return one.size() == other.size() && std::memcmp(one.data(), other.data(), one.size()) == 0;
}

/// The values in items of an array of fixed size. \throws Error
[[nodiscard]] ItemRange values_in(const ItemRange& items, std::uint64_t n_in_item);

/// Reads values of a field's column, in whichever of its representations they are. Keeps the page
/// read last, which may have the values of several blocks. Distinct readers work at the same time.
/// What `Of` looks at outlives it, or is there until another file is opened.
class PageReader {
 public:
  struct Of {
    const Ntuple* ntuple;
    const root_io::InputFile* file;
    std::string_view path;                      ///< of the field, for errors
    std::span<const std::uint32_t> columns;     ///< by representation
    std::optional<std::uint64_t> n_in_entry{};  ///< none: they are in lists
    const ClusterBytes* known{};                ///< what is in memory of the file; null: nothing
  };
  /// \throws Error if a cluster has not as many values as its entries need.
  PageReader(const Of& of, ElementType element);
  /// Reads values as they are packed in pages of `wanted`. \throws Error also if those of this
  /// field would have to be rounded.
  PageReader(const Of& of, const StoredColumn& wanted);
  /// The same column of another file. \throws Error as the constructor
  void open(const Of& of);

  /// Path of the field, for errors.
  [[nodiscard]] std::string path() const { return "field \"" + std::string{of_.path} + '"'; }
  /// \throws Error unless the cluster has these values
  void require(const ItemRange& item_range);
  /// Reads ranges one after the other. \throws Error naming the page that is damaged
  void read(std::span<const ItemRange> item_ranges, std::byte* into);
  void read(const ItemRange& item_range, std::byte* into) { read({&item_range, 1}, into); }
  /// Number of values in a cluster.
  [[nodiscard]] std::uint64_t n_values(std::size_t cluster) {
    static_cast<void>(part(cluster));
    return begins_.back();
  }
  /// The pages of a cluster, if they hold all of its values as those of `wanted` do; else null.
  [[nodiscard]] const PagesOfColumn* pages_as_wanted(std::size_t cluster);
  /// A page of a cluster as it is stored, with its checksum after it. Valid until the next call.
  /// `known`: one like it that was seen to be undamaged, with which it is compared first.
  /// \throws Error if it is damaged.
  [[nodiscard]] std::span<const std::byte> sealed(std::size_t cluster, std::size_t number,
                                                  std::span<const std::byte> known = {});
  /// The values of a page that `sealed` has just given.
  void decode_sealed(std::size_t number, std::span<const std::byte> sealed, std::byte* into);
  /// The same, to see whether its values can be read.
  void unpack(std::size_t cluster, std::size_t number);
  /// Adds the pages that have values of these entries. Where items of lists are, their own pages
  /// say: here it is taken that all entries have as many. Any thread.
  void add_parts(const ItemRange& entries, std::vector<StoredPart>& to) const;
  /// Gives back the memory of pages.
  void forget();

 private:
  /// The pages of a cluster, of the representation that is used there.
  struct Part {
    std::uint32_t column{};
    const PagesOfColumn* pages{};  ///< null: it has only zeros
    std::uint64_t n_zeros{};       ///< before them
  };

  [[nodiscard]] Part part_of(std::size_t cluster) const;
  [[nodiscard]] const Part& part(std::size_t cluster);
  void enter(std::size_t cluster, const Part& part);
  /// Wanted values of a page, until the next one is wanted.
  struct Wanted {
    std::size_t page;
    std::vector<PlacesInPage> places;
    std::byte* into;
  };

  void read(const ItemRange& item_range, Wanted& wanted);
  void decode_wanted(Wanted& wanted);
  void require_possible(std::size_t number) const;
  void decode(std::size_t number, std::byte* into);
  void decode(const PackedPage& page, std::byte* into) const;
  [[nodiscard]] std::span<const std::byte> packed(std::size_t number, Bytes& memory) const;
  [[nodiscard]] std::span<const std::byte> stored(const Page& page, std::size_t number,
                                                  Bytes& memory,
                                                  std::span<const std::byte> known = {}) const;
  [[nodiscard]] std::span<const std::byte> unpacked(std::span<const std::byte> content,
                                                    std::size_t n_bytes, std::size_t number,
                                                    Bytes& memory) const;
  [[nodiscard]] std::string name_of_page(std::size_t number) const;

  Of of_;
  std::optional<StoredColumn> wanted_;
  ElementType element_;
  std::size_t size_;
  std::size_t cluster_ = static_cast<std::size_t>(-1);  ///< that `part_` is of
  Part part_;
  std::vector<std::uint64_t> begins_;  ///< of it, number of the first value of each page, then of
                                       ///< values
  std::size_t kept_ = static_cast<std::size_t>(-1);  ///< number of the page that is kept
  std::span<const std::byte> packed_;                ///< of it, unless its values are in `memory_`
  Bytes memory_;
  Bytes raw_;            ///< of `sealed`
  Bytes with_checksum_;  ///< the same, of a page that has none
};

}  // namespace forkrun::rntuple
