#include <forkrun/formats/ttree/merge/file_merger.hpp>

#include <algorithm>
#include <memory>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/root_file/key_path.hpp>
#include <forkrun/formats/root_file/output_file.hpp>
#include <forkrun/formats/ttree/merge/plain_merger.hpp>
#include <forkrun/formats/ttree/merge/root_merger.hpp>
#include <forkrun/formats/ttree/origins/origins.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>

namespace forkrun::root_io {

namespace {

/// `compression`: of the first file, unless another one is wanted.
BasketTreatment treatment_of(const MergeRequest& request, Compression compression) {
  return {compression, request.compression.has_value(), request.recluster};
}

void check_all_found(const MergeRequest& request,
                     const std::map<std::string, std::int64_t>& entries) {
  for (const auto& tree : request.trees.value_or(std::vector<std::string>{})) {
    if (!entries.contains(tree) && !entries.contains(without_cycle(tree))) {
      throw InputError("tree \"" + tree + "\" is in none of the input files");
    }
  }
}

/// What is asked for of a path: its newest tree, or that of a cycle.
std::optional<std::string> asked_for(const MergeRequest& request, const std::string& path) {
  if (!request.trees || std::ranges::count(*request.trees, path) > 0) {
    return path;
  }
  const auto with_cycle = std::ranges::find(*request.trees, path, without_cycle);
  return with_cycle == request.trees->end() ? std::nullopt : std::optional{*with_cycle};
}

bool asks_for_cycles(const MergeRequest& request) {
  return request.trees && std::ranges::any_of(*request.trees, [](const auto& tree) {
           return without_cycle(tree) != tree;
         });
}

void note_progress(const MergeRequest& request, std::size_t n_done) {
  if (request.progress) {
    request.progress(n_done);
  }
}

void note_written(const MergeRequest& request) {
  if (request.on_written) {
    request.on_written();
  }
}

/// None if ROOT is needed: nothing is written then.
std::optional<std::map<std::string, std::int64_t>> merge_without_root(const MergeRequest& request) {
  const bool compresses_baskets = request.compression && request.recluster == Recluster::never;
  if (compresses_baskets || asks_for_cycles(request)) {
    return {};
  }
  std::optional<std::map<std::string, std::int64_t>> entries;
  auto first = std::make_unique<TreeFile>(request.inputs.front());
  if (!first->names_of_trees()) {
    return {};
  }
  const auto compression = request.compression.value_or(first->compression());
  PlainFile output{request.output, compression};
  try {
    PlainMerger merger{
        output, treatment_of(request, compression), request.check,
        [&](const std::string& tree) { return asked_for(request, tree).has_value(); },
        Origins{false}};
    std::size_t n_done = 0;
    const auto add = [&](const std::string& path) {
      const auto file = first ? std::move(first) : std::make_unique<TreeFile>(path);
      const bool is_added = merger.add(*file);
      note_progress(request, n_done += is_added ? 1 : 0);
      return is_added;
    };
    if (std::ranges::all_of(request.inputs, add)) {
      entries = merger.finish();
      check_all_found(request, *entries);
      output.close();
      note_written(request);
      merger.check(request.output);
      if (request.note) {
        std::ranges::for_each(merger.notes(), request.note);
      }
    }
  } catch (...) {
    output.abandon();
    throw;
  }
  if (!entries) {
    output.abandon();
  }
  return entries;
}

std::map<std::string, std::int64_t> merge_with_root(const MergeRequest& request) {
  auto first = std::make_unique<TreeFile>(request.inputs.front());
  const auto compression = request.compression.value_or(first->compression());
  OutputFile output{request.output, compression};
  try {
    RootMerger merger{output,
                      {treatment_of(request, compression),
                       request.check,
                       request.if_they_differ,
                       {},
                       request.trees.has_value(),
                       request.note ? UnknownReferences::leave_out : UnknownReferences::error},
                      [&](const std::string& path) { return asked_for(request, path); },
                      Origins{false}};
    std::vector<std::unique_ptr<TreeFile>> files;
    for (std::size_t i = 0; i < request.inputs.size(); ++i) {
      auto file = i == 0 ? std::move(first) : std::make_unique<TreeFile>(request.inputs[i]);
      merger.add(*file);
      if (i == 0) {
        files.push_back(std::move(file));  // the merged trees took their structure from it
      }
      note_progress(request, i + 1);
    }
    auto entries = merger.finish();
    check_all_found(request, entries);
    output.close();
    note_written(request);
    merger.check(request.output);
    if (request.note) {
      std::ranges::for_each(merger.notes(), request.note);
    }
    return entries;
  } catch (...) {
    output.abandon();
    throw;
  }
}

}  // namespace

std::map<std::string, std::int64_t> merge_files(const MergeRequest& request) {
  if (request.inputs.empty()) {
    throw InputError("no files to merge");
  }
  auto entries = merge_without_root(request);
  return entries ? std::move(*entries) : merge_with_root(request);
}

}  // namespace forkrun::root_io
