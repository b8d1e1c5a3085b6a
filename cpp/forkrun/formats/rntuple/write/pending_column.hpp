#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <forkrun/bytes/compression.hpp>
#include <forkrun/bytes/growing_bytes.hpp>
#include <forkrun/formats/rntuple/schema.hpp>

namespace forkrun::rntuple {

/// A page as it is written: its bytes, and after them their checksum.
struct SealedPage {
  std::uint32_t n_values{};
  std::optional<std::uint64_t> digest{};  ///< of the values that it was made of, if it is a sample
  std::span<const std::byte> bytes;
};

/// Values of a column that belong to the present cluster, until they are sealed in pages. Pages
/// end where their number of values says, so that they depend on these alone.
class PendingColumn {
 public:
  PendingColumn(const StoredColumn& column, Compression compression);

  [[nodiscard]] const StoredColumn& column() const { return column_; }
  [[nodiscard]] Compression compression() const { return compression_; }
  /// Room for n more values, of `stored_element(column())`.
  [[nodiscard]] std::byte* extend(std::size_t n);
  /// Adds the last n values once more.
  void repeat_last(std::size_t n);
  [[nodiscard]] std::size_t n_values() const { return values_.size() / value_bytes_; }
  [[nodiscard]] std::size_t n_bytes() const { return values_.size(); }
  /// End of the last list, in a column of ends.
  [[nodiscard]] std::int64_t last_end() const;

  /// Adds a page as it is, with its checksum: the values before it are sealed. Any thread.
  void add_page(std::uint32_t n_values, std::span<const std::byte> bytes);
  /// Packs and compresses all values, and forgets them. Any thread.
  void seal();
  /// Once they are sealed.
  [[nodiscard]] std::span<const SealedPage> pages() const { return pages_; }
  /// Gives back the memory of pages.
  void forget_pages();

 private:
  void seal_values();
  void seal_page(std::span<const std::byte> values, std::size_t n);

  StoredColumn column_;
  Compression compression_;
  std::size_t value_bytes_;
  std::size_t n_made_{};  ///< pages of values
  /// Bytes of values and of pages of the last time: so many are reserved at once.
  std::size_t usual_value_bytes_{};
  std::size_t usual_page_bytes_{};
  Bytes values_;
  Bytes packed_;
  Bytes sealed_;
  std::vector<std::size_t> begins_;
  std::vector<SealedPage> pages_;
};

}  // namespace forkrun::rntuple
