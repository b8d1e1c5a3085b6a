#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <forkrun/core/data/unit_of_work.hpp>
#include <forkrun/formats/rntuple/write/new_fields.hpp>
#include <forkrun/formats/rntuple/write/pending_column.hpp>

namespace forkrun::rntuple {

class NtupleFile;

/// The fields of an output that are kept of its input.
class KeptFields {
 public:
  KeptFields() = default;
  virtual ~KeptFields() = default;
  KeptFields(const KeptFields&) = delete;
  KeptFields& operator=(const KeptFields&) = delete;

  /// Adds them to a schema that has none yet, and says of their lists which counter they have.
  virtual void add_to(Schema& schema, NewFields& fields) = 0;
  /// Uncompressed bytes that they have in an event of this file.
  [[nodiscard]] virtual double bytes_per_event(std::uint32_t file) = 0;
  /// Adds entries of one file to their columns. \throws InputError
  virtual void add(std::span<const EntryRange> entries, std::span<PendingColumn> columns,
                   std::size_t n_threads) = 0;
  /// Whether pages may be copied as they are, where they belong to a cluster that is kept whole.
  [[nodiscard]] virtual bool keeps_pages() const = 0;
  /// Adds all entries of a cluster: those columns whose pages can be copied to the file at once,
  /// the others as `add` does. \throws InputError
  virtual void add_whole(const EntryRange& entries, std::span<PendingColumn> columns,
                         NtupleFile& file, std::size_t n_threads) = 0;
};

}  // namespace forkrun::rntuple
