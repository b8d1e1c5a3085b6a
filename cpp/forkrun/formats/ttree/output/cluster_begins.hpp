#pragma once

#include <cstdint>
#include <vector>

#include <forkrun/formats/ttree/output/make_outputs.hpp>

namespace forkrun::root_io {

/// The entry of the input with which a cluster of an output begins, and its events.
struct ClusterBegin {
  std::uint32_t file{};
  std::int64_t entry{};
  std::int64_t n_events{};
};

/// Where `make_outputs` begins the clusters of an output, found without reading what its events
/// hold: it holds unless a cluster's events are much larger than the mean of their file, which has
/// `make_outputs` end that cluster sooner. The path of the output's first file is used for a file
/// that is removed. \throws InputError, OutputError
[[nodiscard]] std::vector<ClusterBegin> cluster_begins(const OutputToMake& output,
                                                       OutputFormat format,
                                                       const TreeSourceConfig& source);

}  // namespace forkrun::root_io
