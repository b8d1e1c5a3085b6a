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

/// Makes the files of all outputs from what children have selected, cluster of the input by
/// cluster: what several outputs take from it is read and uncompressed once, as long as what is
/// collected for them has room in memory. The bytes of an output depend on its selected events, the
/// input and its content alone. Gives the number of events in each file, by output; if it throws,
/// there are none of them. \throws InputError, OutputError
std::vector<std::vector<std::int64_t>> make_outputs(const std::vector<OutputToMake>& outputs,
                                                    OutputInput& input, std::size_t n_threads);

struct OutputsRequest {
  std::vector<OutputToMake> outputs;
  OutputFormat format{};
  TreeSourceConfig source;
  std::size_t n_threads{1};
  /// Of baskets that are copied as they are.
  BasketCheck::Depth check{BasketCheck::Depth::headers};
  /// Gets the number of each file of the input just before it is opened.
  std::function<void(std::size_t)> on_open;
};

/// What outputs of a format take from the input. `config` has to outlive it.
[[nodiscard]] std::unique_ptr<OutputInput> output_input(OutputFormat format,
                                                        const TreeSourceConfig& config,
                                                        BasketCheck::Depth check,
                                                        std::function<void(std::size_t)> on_open);

/// The same, of trees and RNTuples.
std::vector<std::vector<std::int64_t>> make_outputs(const OutputsRequest& request);

/// Events in a fragment, all of which is read. \throws InputError
[[nodiscard]] std::int64_t events_of_fragment(const std::string& path);

/// Top-level branches of objects whose entries an output cannot copy as bytes: ROOT reads and
/// writes them anew, with what it knows of their classes. \throws InputError
[[nodiscard]] std::vector<std::string> branches_written_anew(const std::string& path,
                                                             const std::string& tree);

}  // namespace forkrun::root_io
