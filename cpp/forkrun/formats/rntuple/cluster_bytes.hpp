#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <forkrun/bytes/growing_bytes.hpp>
#include <forkrun/formats/rntuple/clusters.hpp>
#include <forkrun/formats/rntuple/field_column.hpp>

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
  /// Of another file nothing is there.
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
