#include <forkrun/formats/merge/file_merger.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <ranges>
#include <string>
#include <system_error>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/merge/joined_tables.hpp>
#include <forkrun/formats/merge/merger.hpp>
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
  explicit FileMerge(const MergeRequest& request) : request_{request}, tables_{request} {}

  std::map<std::string, std::int64_t> run() {
    if (request_.adds && has_nothing()) {
      return {};
    }
    try {
      const auto compression = request_.compression.value_or(first_compression());
      write_ntuples(compression);
      auto entries = add_without_root(compression);
      return entries ? std::move(*entries) : add_with_root(compression);
    } catch (...) {
      if (!request_.adds) {
        std::error_code ignored;
        std::filesystem::remove(request_.output, ignored);
      }
      throw;
    }
  }

 private:
  Compression first_compression() const { return TreeFile{request_.inputs.front()}.compression(); }
  [[nodiscard]] bool has_ntuples() const { return tables_.has(OutputFormat::ntuple); }
  /// Whether the output exists before all but RNTuples is added.
  [[nodiscard]] bool is_there() const { return request_.adds || has_ntuples(); }
  [[nodiscard]] bool has_nothing() const {
    return !tables_.has_others() && tables_.paths().empty() &&
           std::ranges::all_of(request_.inputs, [](const auto& input) {
             return TreeFile{input}.names_of_trees(Ntuples::passed_over).has_value();
           });
  }

  void write_ntuples(Compression compression) {
    if (!has_ntuples()) {
      return;
    }
    PlainFile file{request_.output, compression};
    try {
      tables_.write(OutputFormat::ntuple, file, compression, origins_,
                    [&](std::size_t n) { note_step(n); });
    } catch (...) {
      file.abandon();
      throw;
    }
    file.close_to_reopen();
  }

  /// None if ROOT is needed: the file is as it was then.
  std::optional<std::map<std::string, std::int64_t>> add_without_root(Compression compression) {
    const TreeFile first{request_.inputs.front()};
    if (asks_for_cycles(request_) || !first.names_of_trees(Ntuples::passed_over) ||
        tables_.needs_root()) {
      return {};
    }
    const auto output = is_there() ? reopen_with_trees(request_.output)
                                   : std::make_unique<PlainFile>(request_.output, compression);
    if (!output) {
      return {};
    }
    auto entries = add_all(*output, compression);
    if (!entries) {
      is_there() ? output->restore() : output->abandon();
    }
    return entries;
  }

  std::map<std::string, std::int64_t> add_with_root(Compression compression) {
    OutputFile output{request_.output, compression,
                      is_there() ? OutputMode::update : OutputMode::create};
    return add_all(output, compression).value();
  }

  /// None if ROOT is needed, and the output is not written with it.
  std::optional<std::map<std::string, std::int64_t>> add_all(RecordFile& output,
                                                             Compression compression) {
    auto origins = origins_;
    Merger merger{output,
                  {treatment_of(request_, compression), request_.check, request_.if_they_differ,
                   request_.trees.has_value(),
                   request_.note ? UnknownReferences::leave_out : UnknownReferences::error},
                  [&](const std::string& path) {
                    return tables_.paths().contains(path) ? std::nullopt
                                                          : asked_for(request_, path);
                  },
                  origins};
    for (std::size_t number = 0; number < request_.inputs.size(); ++number) {
      auto file = std::make_unique<TreeFile>(request_.inputs[number]);
      if (!request_.identities.empty()) {
        file->check_identity(request_.identities.at(number));
      }
      if (!merger.add(*file)) {
        return {};
      }
      note_step(tables_.n_steps() + number + 1);
      keep_first(std::move(file));
    }
    tables_.write(OutputFormat::tree, output, compression, origins,
                  [&](std::size_t n) { note_step(n); });
    auto entries = merger.finish();
    output.close();
    return finished(merger, std::move(entries));
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
    entries.insert(tables_.entries().begin(), tables_.entries().end());
    check_all_found(request_, entries);
    if (request_.on_written) {
      request_.on_written();
    }
    tables_.check();
    merger.check(request_.output);
    if (request_.note) {
      std::ranges::for_each(tables_.notes(), request_.note);
      std::ranges::for_each(merger.notes(), request_.note);
    }
    return entries;
  }

  /// Progress: steps of the tables in each file, and of all files.
  void note_step(std::size_t n) const {
    if (request_.progress) {
      const auto n_files = request_.inputs.size();
      request_.progress(n * n_files / (tables_.n_steps() + n_files));
    }
  }

  const MergeRequest& request_;
  JoinedTables tables_;
  Origins origins_{request_.records_origins};
  std::vector<std::unique_ptr<TreeFile>> first_;
};

}  // namespace

std::optional<std::string> asked_for(const MergeRequest& request, const std::string& path) {
  if (request.exclude.contains(path)) {
    return {};
  }
  if (!request.trees || std::ranges::count(*request.trees, path) > 0) {
    return path;
  }
  const auto with_cycle = std::ranges::find(*request.trees, path, without_cycle);
  return with_cycle == request.trees->end() ? std::nullopt : std::optional{*with_cycle};
}

std::map<std::string, std::int64_t> merge_files(const MergeRequest& request) {
  if (request.inputs.empty() && request.adds) {
    return {};
  }
  if (request.inputs.empty()) {
    throw InputError("no files to merge");
  }
  return FileMerge{request}.run();
}

}  // namespace forkrun::root_io
