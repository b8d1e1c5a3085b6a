#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <forkrun/formats/rntuple/clusters.hpp>
#include <forkrun/formats/rntuple/description.hpp>

namespace forkrun::root_io {
class InputFile;
}

namespace forkrun::rntuple {

/// What an RNTuple says of itself: its fields, and where their values are in the file.
struct Ntuple {
  std::shared_ptr<const Description> description{};
  std::uint64_t n_entries{};
  std::vector<Cluster> clusters{};  ///< in the order of their entries
  std::size_t n_attribute_sets{};

  [[nodiscard]] const Schema& schema() const { return description->schema; }
};

/// `anchor`: the object of class ROOT::RNTuple in the file, uncompressed. \throws Error that says
/// what is damaged, or is not known to this version.
[[nodiscard]] Ntuple open_ntuple(std::span<const std::byte> anchor, const root_io::InputFile& file);

}  // namespace forkrun::rntuple
