#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <forkrun/core/data/column.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/ttree/layout/basket.hpp>

namespace forkrun::root_io {

/// Checksum of the first and the last bytes of what a basket holds, compressed as it is.
[[nodiscard]] std::uint32_t ends_of(std::span<const std::byte> record, const BasketHeader& header);
constexpr std::size_t end_bytes = 256;

/// Checksums that a branch being written has to match: of some entries, taken from their source,
/// and of the ends of each basket. Entries are compared in the basket before it is compressed;
/// those of some baskets are kept, as all ends are, until the file is read back.
class BranchSamples {
 public:
  struct Entry {
    std::int64_t number{};
    std::uint32_t checksum{};
    std::uint32_t n_bytes{};
  };
  struct BasketEnds {
    std::int64_t first_entry{};
    std::int32_t n_entries{};
    std::int32_t n_payload_bytes{};
    std::uint32_t checksum{};
  };
  /// One in so many new baskets is read back, another one for each branch.
  static constexpr std::size_t period = 8;

  /// `branch`: its name.
  explicit BranchSamples(const std::string& branch);

  /// Entry `number` of the branch is to be these bytes.
  void note(std::int64_t number, std::span<const std::byte> entry);
  /// It is to be the value of an event of a column.
  void note(std::int64_t number, const Column& column, std::int64_t event);
  /// It is to be the number of values that the event has.
  void note_count(std::int64_t number, const Column& column, std::int64_t event);

  /// Compares what was noted with the entries of the basket that is made next. `entry_at`: gives
  /// the bytes of an entry. \throws VerificationFailed naming tree, branch and entry.
  template <typename EntryAt>
  void compare(const std::string& tree, const EntryAt& entry_at) {
    for (const auto& noted : pending_) {
      if (!agrees(noted, entry_at(noted.number))) {
        fail(tree, noted.number);
      }
    }
    end_basket();
  }
  /// Notes a basket that is on file.
  void note_basket(const BasketHeader& header, std::int64_t first_entry, std::uint32_t ends);

  [[nodiscard]] static bool agrees(const Entry& noted, std::span<const std::byte> entry);
  /// Entries to be read back.
  [[nodiscard]] std::span<const Entry> entries() const { return entries_; }
  /// In the order of their entries.
  [[nodiscard]] std::span<const BasketEnds> baskets() const { return baskets_; }
  [[noreturn]] void fail(const std::string& tree, std::int64_t entry) const;

 private:
  void end_basket();

  std::string branch_;
  std::size_t turn_;
  std::vector<Entry> pending_;  ///< of the next basket
  std::vector<Entry> entries_;
  std::vector<BasketEnds> baskets_;
};

}  // namespace forkrun::root_io
