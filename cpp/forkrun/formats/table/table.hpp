#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <forkrun/bytes/byte_source.hpp>
#include <forkrun/core/data/column.hpp>

namespace forkrun {

/// Places in a file of the values of some entries.
struct StoredPart {
  std::int64_t first_entry{};
  ByteRange bytes;
};

/// In the order in which entries need them.
[[nodiscard]] inline std::vector<ByteRange> in_order(std::vector<StoredPart> parts) {
  std::ranges::sort(parts, {},
                    [](const auto& part) { return std::pair{part.first_entry, part.bytes.place}; });
  std::vector<ByteRange> ranges;
  std::ranges::transform(parts, std::back_inserter(ranges), &StoredPart::bytes);
  const auto twice = std::ranges::unique(ranges, {}, &ByteRange::place);
  ranges.erase(twice.begin(), twice.end());
  return ranges;
}

/// Reads one column of a table, with its own buffers: distinct readers work at the same time.
class ColumnReader {
 public:
  ColumnReader() = default;
  virtual ~ColumnReader() = default;
  ColumnReader(const ColumnReader&) = delete;
  ColumnReader& operator=(const ColumnReader&) = delete;

  /// None: it cannot be read as a column.
  [[nodiscard]] virtual std::optional<ColumnType> type() const = 0;
  /// For messages: the column type's name, or "other:CLASS".
  [[nodiscard]] virtual std::string described_type() const = 0;
  /// Name of its counter column; "": none.
  [[nodiscard]] virtual std::string counter() const = 0;
  /// Uncompressed bytes of all its values.
  [[nodiscard]] virtual std::int64_t n_bytes() const = 0;
  /// Values of entries [first, last). Needs a type. \throws Error
  virtual void read(std::int64_t first, std::int64_t last, Column& into) = 0;
  /// Adds the ranges to be read from the file for entries [first, last), as far as known.
  virtual void add_parts(std::int64_t /*first*/, std::int64_t /*last*/,
                         std::vector<StoredPart>& /*to*/) const {}
};

/// Entries with columns in a file, in any form of storage.
class Table {
 public:
  explicit Table(std::string name) : name_{std::move(name)} {}
  virtual ~Table() = default;
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  /// Its path in the file, as requested.
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] virtual std::int64_t n_entries() const = 0;
  [[nodiscard]] virtual bool has(const std::string& column) const = 0;
  /// Any thread. \throws InputError with the nearest name if there is no such column.
  [[nodiscard]] virtual std::unique_ptr<ColumnReader> reader(const std::string& column) const = 0;

 private:
  std::string name_;
};

}  // namespace forkrun
