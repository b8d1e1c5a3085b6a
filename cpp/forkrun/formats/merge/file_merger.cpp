#include <forkrun/formats/merge/file_merger.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <ranges>
#include <string>
#include <system_error>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/merge/joined_ntuples.hpp>
#include <forkrun/formats/merge/merger.hpp>
#include <forkrun/formats/merge/ntuples_as_trees.hpp>
#include <forkrun/formats/merge/origins.hpp>
#include <forkrun/formats/root_file/key_path.hpp>
#include <forkrun/formats/root_file/output_file.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>
#include <forkrun/formats/ttree/write/plain_tree.hpp>

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

bool asks_for_cycles(const MergeRequest& request) {
  return request.trees && std::ranges::any_of(*request.trees, [](const auto& tree) {
           return without_cycle(tree) != tree;
         });
}

/// RNTuples of the output are in it first, then all else.
class FileMerge {
 public:
  explicit FileMerge(const MergeRequest& request) : request_{request}, ntuples_{request} {}

  std::map<std::string, std::int64_t> run() {
    try {
      return naming_inputs(request_.inputs, request_.output, [&] { return joined(); });
    } catch (...) {
      std::error_code ignored;
      std::filesystem::remove(request_.output, ignored);
      throw;
    }
  }

 private:
  std::map<std::string, std::int64_t> joined() {
    const auto compression = request_.compression.value_or(first_compression());
    write_ntuples(compression);
    auto entries = add_without_root(compression);
    return entries ? std::move(*entries) : add_with_root(compression);
  }
  Compression first_compression() const { return TreeFile{request_.inputs.front()}.compression(); }
  [[nodiscard]] std::optional<std::string> wanted(const std::string& path) const {
    return ntuples_.paths().contains(path) ? std::nullopt : asked_for(request_, path);
  }
  /// The same of what is taken from an input, or from its file of aligned trees.
  [[nodiscard]] std::optional<std::string> taken(const std::string& path) const {
    const bool is_aligned = request_.fields.contains(path);
    return is_aligned && adds_aligned_ ? std::optional{path}
           : is_aligned                ? std::nullopt
                                       : wanted(path);
  }

  void write_ntuples(Compression compression) {
    if (ntuples_.paths().empty()) {
      return;
    }
    PlainFile file{request_.output, compression};
    try {
      ntuples_.write(file, compression, origins_, [&](std::size_t n) { note_step(n); });
    } catch (...) {
      file.abandon();
      throw;
    }
    file.close_to_reopen();
  }

  /// None if ROOT is needed: the file is as it was then.
  std::optional<std::map<std::string, std::int64_t>> add_without_root(Compression compression) {
    const TreeFile first{request_.inputs.front()};
    if (asks_for_cycles(request_) || !first.names_of_trees(Ntuples::passed_over)) {
      return {};
    }
    const auto output = ntuples_.paths().empty()
                            ? std::make_unique<PlainFile>(request_.output, compression)
                            : reopen_with_trees(request_.output);
    if (!output) {
      return {};
    }
    auto entries = add_all(*output, compression);
    if (!entries) {
      ntuples_.paths().empty() ? output->abandon() : output->restore();
    }
    return entries;
  }

  std::map<std::string, std::int64_t> add_with_root(Compression compression) {
    OutputFile output{request_.output, compression,
                      ntuples_.paths().empty() ? OutputMode::create : OutputMode::update};
    return add_all(output, compression).value();
  }

  /// None if ROOT is needed, and the output is not written with it.
  std::optional<std::map<std::string, std::int64_t>> add_all(RecordFile& output,
                                                             Compression compression) {
    Merger merger{output,
                  {treatment_of(request_, compression),
                   request_.check,
                   request_.if_they_differ,
                   {},
                   request_.trees.has_value(),
                   request_.note ? UnknownReferences::leave_out : UnknownReferences::error},
                  [&](const std::string& path) { return taken(path); },
                  origins_};
    for (std::size_t number = 0; number < request_.inputs.size(); ++number) {
      if (!add_to(merger, number, compression)) {
        return {};
      }
    }
    auto entries = merger.finish();
    output.close();
    return finished(merger, std::move(entries));
  }

  /// A file, what RNTuples it has that are to be trees, and its trees with aligned fields.
  bool add_to(Merger& merger, std::size_t number, Compression compression) {
    auto file = std::make_unique<TreeFile>(request_.inputs[number]);
    bool is_added = merger.add(*file);
    auto ntuples = std::make_unique<NtuplesAsTrees>(
        *file, [&](const auto& path) { return wanted(path).has_value(); },
        path_of_trees(request_.output, number), NtuplesAsTrees::OriginsOf::carried);
    if (is_added && !ntuples->names().empty()) {
      auto trees = std::make_unique<TreeFile>(ntuples->path());
      is_added = merger.add(*trees);
      keep_first(std::move(trees));
    }
    is_added = is_added && add_aligned(merger, *file, *ntuples, number, compression);
    constexpr std::size_t most_empty = 4;
    if (ntuples->has_empty() && empty_.size() < most_empty) {
      empty_.push_back(std::move(ntuples));
    }
    if (is_added) {
      note_step(ntuples_.n_steps() + number + 1);
    }
    keep_first(std::move(file));
    return is_added;
  }
  bool add_aligned(Merger& merger, TreeFile& file, const NtuplesAsTrees& ntuples,
                   std::size_t number, Compression compression) {
    const AlignedTrees aligned{file,
                               ntuples,
                               request_.fields,
                               [&](const std::string& path) { return wanted(path); },
                               path_of_trees(request_.output, number, MadeOf::fields),
                               compression,
                               request_.check};
    if (!aligned.path()) {
      return true;
    }
    auto trees = std::make_unique<TreeFile>(*aligned.path());
    adds_aligned_ = true;
    const bool is_added = merger.add(*trees);
    adds_aligned_ = false;
    keep_first(std::move(trees));
    return is_added;
  }
  /// Merged trees of ROOT take their structure from the first file with them.
  void keep_first(std::unique_ptr<TreeFile> file) {
    constexpr std::size_t n_most = 2;
    if (first_.size() < n_most) {
      first_.push_back(std::move(file));
    }
  }

  std::map<std::string, std::int64_t> finished(const Merger& merger,
                                               std::map<std::string, std::int64_t> entries) {
    entries.insert(ntuples_.entries().begin(), ntuples_.entries().end());
    check_all_found(request_, entries);
    if (request_.on_written) {
      request_.on_written();
    }
    ntuples_.check(request_.output);
    merger.check(request_.output);
    if (request_.note) {
      std::ranges::for_each(ntuples_.notes(), request_.note);
      for (const auto& note : merger.notes()) {
        request_.note(with_inputs(note, request_.inputs, request_.output));
      }
    }
    return entries;
  }

  /// Progress: steps of the RNTuples in each file, and of all files.
  void note_step(std::size_t n) const {
    if (request_.progress) {
      const auto n_files = request_.inputs.size();
      request_.progress(n * n_files / (ntuples_.n_steps() + n_files));
    }
  }

  const MergeRequest& request_;
  JoinedNtuples ntuples_;
  Origins origins_{false};
  bool adds_aligned_ = false;
  std::vector<std::unique_ptr<NtuplesAsTrees>> empty_;  ///< the first ones, until the end
  std::vector<std::unique_ptr<TreeFile>> first_;
};

}  // namespace

std::optional<std::string> asked_for(const MergeRequest& request, const std::string& path) {
  if (!request.trees || std::ranges::count(*request.trees, path) > 0) {
    return path;
  }
  const auto with_cycle = std::ranges::find(*request.trees, path, without_cycle);
  return with_cycle == request.trees->end() ? std::nullopt : std::optional{*with_cycle};
}

std::map<std::string, std::int64_t> merge_files(const MergeRequest& request) {
  if (request.inputs.empty()) {
    throw InputError("no files to merge");
  }
  return FileMerge{request}.run();
}

}  // namespace forkrun::root_io
