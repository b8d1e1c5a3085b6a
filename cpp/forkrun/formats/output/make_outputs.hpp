#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <forkrun/formats/output/make_outputs.hpp>
#include <forkrun/formats/output/output_files.hpp>
#include <forkrun/formats/source/tree_source.hpp>
#include <forkrun/formats/ttree/merge/basket_check.hpp>

namespace forkrun::root_io {

/// The entry of the input that begins a cluster of an output, and the cluster's events.
struct ClusterBegin {
  std::uint32_t file{};
  std::int64_t entry{};
  std::int64_t n_events{};
};

/// Begins of the clusters of an output, found without reading its events: exact unless a cluster's
/// events are much larger than the mean of their file, where `make_outputs` ends that cluster
/// sooner. The path of the output's first file is used for a file that is removed. \throws
/// InputError, OutputError
[[nodiscard]] std::vector<ClusterBegin> cluster_begins(const OutputToMake& output,
                                                       OutputFormat format,
                                                       const TreeSourceConfig& source);

/// Makes the files of all outputs from the children's selection, cluster of the input by cluster:
/// input shared by several outputs is read and uncompressed once, as long as the collected events
/// fit in memory. The bytes of an output depend only on its selected events, the input and its
/// content. Returns the number of events in each file, by output; if it throws, none of the files
/// exist. \throws InputError, OutputError
std::vector<std::vector<std::int64_t>> make_outputs(const std::vector<OutputToMake>& outputs,
                                                    OutputInput& input, std::size_t n_threads);

struct OutputsRequest {
  std::vector<OutputToMake> outputs;
  OutputFormat format{};
  TreeSourceConfig source;
  std::size_t n_threads{1};
  /// Verifies copied baskets.
  BasketCheck::Depth check{BasketCheck::Depth::headers};
  /// Gets the number of each file of the input just before it is opened.
  std::function<void(std::size_t)> on_open;
};

/// The input for outputs of a format. `config` must outlive it.
[[nodiscard]] std::unique_ptr<OutputInput> output_input(OutputFormat format,
                                                        const TreeSourceConfig& config,
                                                        BasketCheck::Depth check,
                                                        std::function<void(std::size_t)> on_open);

/// The same for trees and RNTuples.
std::vector<std::vector<std::int64_t>> make_outputs(const OutputsRequest& request);

/// Number of events in a fragment; reads all of it. \throws InputError
[[nodiscard]] std::int64_t events_of_fragment(const std::string& path);

/// Top-level branches of objects whose entries an output cannot copy as bytes: ROOT reads and
/// rewrites them, with its knowledge of their classes. `has_references`: other files have. \throws
/// InputError
[[nodiscard]] std::vector<std::string> rewritten_branches(const std::string& path,
                                                          const std::string& tree,
                                                          bool has_references);

}  // namespace forkrun::root_io
