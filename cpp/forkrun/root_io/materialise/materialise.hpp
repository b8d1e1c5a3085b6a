#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <forkrun/root_io/materialise/output_tree.hpp>

namespace forkrun::root_io {

/// A file to make. `entries`: of the input, whose events it has; none: all.
struct MaterialisedFile {
  std::string path;
  std::vector<EntryRange> entries;
};

struct MaterialiseRequest {
  /// Fragments in the order of the output. Those of one group, whose events alternate, are put in
  /// the order of their entries.
  std::vector<std::vector<std::string>> fragments;
  std::vector<MaterialisedFile> outputs;  ///< in the order of the events
  TreeSourceConfig source;
  OutputContent content;
  std::size_t n_threads{1};
  /// Of baskets that are copied as they are.
  BasketCheck::Depth check{BasketCheck::Depth::headers};
  /// Gets the number of each file of the input just before it is opened.
  std::function<void(std::size_t)> on_open;
  /// Gets the number of the group that is read next; called just before each of them.
  std::function<void(std::size_t)> before_group;
  /// Gets the number of events written; called after each cluster.
  std::function<void(std::int64_t)> progress;
};

/// Makes the files of an output from what children have selected. Their bytes depend on the
/// selected events, the input and the content alone. Gives the number of events in each; if it
/// throws, there are none of them. \throws InputError, OutputError
std::vector<std::int64_t> materialise(const MaterialiseRequest& request);

/// Events in a fragment, all of which is read. \throws InputError
[[nodiscard]] std::int64_t events_of_fragment(const std::string& path);

/// Top-level branches of objects whose entries an output cannot copy as bytes: ROOT reads and
/// writes them anew, with what it knows of their classes. \throws InputError
[[nodiscard]] std::vector<std::string> branches_written_anew(const std::string& path,
                                                             const std::string& tree);

}  // namespace forkrun::root_io
