#include <forkrun/root_io/merge/file_merger.hpp>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>

#include <TClass.h>
#include <TFile.h>
#include <TKey.h>
#include <TList.h>
#include <TTree.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/root_io/merge/common_branches.hpp>
#include <forkrun/root_io/merge/object_merger.hpp>
#include <forkrun/root_io/merge/plain_merger.hpp>
#include <forkrun/root_io/merge/tree_merger.hpp>
#include <forkrun/root_io/origins/origins.hpp>
#include <forkrun/root_io/read/input_file.hpp>
#include <forkrun/root_io/write/output_file.hpp>

namespace forkrun::root_io {

namespace {

using BranchesByPath = std::map<std::string, std::vector<std::string>>;

/// `compression`: of the first file, unless another one is wanted.
BasketTreatment treatment_of(const MergeRequest& request, Compression compression) {
  return {compression, request.compression.has_value(), request.recluster};
}

/// Joins whatever it is given, by path within the file.
class FileMerger {
 public:
  using Wanted = std::function<bool(const std::string& path, bool is_tree)>;

  FileMerger(OutputFile& output, Compression compression, const MergeRequest& request,
             Wanted wanted, Origins origins, BranchesByPath only = {})
      : output_{output},
        compression_{compression},
        request_{request},
        wanted_{std::move(wanted)},
        origins_{std::move(origins)},
        only_{std::move(only)},
        objects_{output, compression, request.if_they_differ} {}

  void add(InputFile& file) {
    naming_file(file.path(), [&] {
      origins_.begin_file(file);
      add_directory(file, file.file(), "");
    });
    objects_.end_file(file);
  }

  std::map<std::string, std::int64_t> finish() {
    std::map<std::string, std::int64_t> entries;
    for (auto& [path, merger] : trees_) {
      entries[path] = merger.finish();
    }
    objects_.finish();
    if (const auto origins = origins_.of_output(); !origins.empty()) {
      write_origins(output_, origins, compression_);
    }
    if (request_.note) {
      std::vector<std::string> on_baskets;
      for (const auto& [path, merger] : trees_) {
        add_note(on_baskets, path, merger.reclustering());
        std::ranges::copy(merger.notes(), std::back_inserter(on_baskets));
      }
      std::ranges::for_each(on_baskets, request_.note);
      std::ranges::for_each(origins_.notes(), request_.note);
      std::ranges::for_each(objects_.notes(), request_.note);
    }
    return entries;
  }

  [[nodiscard]] std::vector<std::string> names() const { return {names_.begin(), names_.end()}; }

 private:
  void add_directory(InputFile& file, TDirectory& directory, const std::string& folder) {
    std::set<std::string> seen;
    for (TObject* object :
         *directory.GetListOfKeys()) {  // of one name, the newest cycle comes first
      auto& key = static_cast<TKey&>(*object);
      if (seen.insert(key.GetName()).second) {
        add_key(file, key, folder);
      }
    }
  }

  void add_key(InputFile& file, TKey& key, const std::string& folder) {
    const auto path = folder.empty() ? key.GetName() : folder + "/" + key.GetName();
    const TClass* type = TClass::GetClass(key.GetClassName());
    if (type != nullptr && type->InheritsFrom(TDirectory::Class())) {
      return add_folder(file, key, path);
    }
    const bool is_tree = type != nullptr && type->InheritsFrom(TTree::Class()) &&
                         std::strcmp(type->GetName(), "TChain") != 0;
    if (!wanted_(path, is_tree) || std::strcmp(key.GetClassName(), "TProcessID") == 0 ||
        path == origin_record) {
      return;  // ROOT writes the ids of the processes that references need by itself
    }
    if (std::strcmp(key.GetClassName(), "ROOT::RNTuple") == 0) {
      throw InputError(file.path() + ": \"" + path +
                       "\" is an RNTuple, which cannot be merged yet");
    }
    check_kind(file, path, is_tree ? "a tree" : "an object");
    names_.insert(path);
    if (is_tree) {
      add_tree(file, key, path);
    } else if (!ObjectMerger::merges(key) || origins_.takes_object(path)) {
      objects_.add(file, key, folder);
    }
  }

  void add_tree(InputFile& file, TKey& key, const std::string& path) {
    const auto taken = origins_.take_rows(path);
    const auto only = only_.find(path);
    auto& merger =
        trees_
            .try_emplace(path, output_, path, treatment_of(request_, compression_), request_.check,
                         only == only_.end() ? std::nullopt : std::optional{only->second})
            .first->second;
    const auto before = merger.n_entries();
    if (taken.is_all()) {
      merger.add(file, key);
    } else {
      merger.add_rows(file, taken.rows);
    }
    const auto n_taken = merger.n_entries() - before;
    const auto n_rows = taken.is_all() ? n_taken : file.tree(path).GetEntries();
    origins_.check_rows(path, n_rows);
    origins_.add_rows(path, taken, n_rows, n_taken);
  }

  void add_folder(InputFile& file, TKey& key, const std::string& path) {
    auto* folder = dynamic_cast<TDirectory*>(key.ReadObj());
    if (folder == nullptr) {
      throw InputError(file.path() + ": folder \"" + path + "\" cannot be read");
    }
    check_kind(file, path, "a folder");
    if (!request_.trees) {
      output_.folder(path, folder->GetTitle());
    }
    add_directory(file, *folder, path);
  }

  /// What is a tree in one file must be one in all.
  void check_kind(const InputFile& file, const std::string& path, const std::string& kind) {
    const auto& before = kinds_.try_emplace(path, kind).first->second;
    if (before != kind) {
      throw InputError(file.path() + ": \"" + path + "\" is " + kind + ", and " + before +
                       " in the files before; merge such files apart");
    }
  }

  OutputFile& output_;
  Compression compression_;
  const MergeRequest& request_;
  Wanted wanted_;
  Origins origins_;
  BranchesByPath only_;
  std::map<std::string, TreeMerger> trees_;
  ObjectMerger objects_;
  std::map<std::string, std::string> kinds_;
  std::set<std::string> names_;
};

void check_all_found(const MergeRequest& request,
                     const std::map<std::string, std::int64_t>& entries) {
  for (const auto& tree : request.trees.value_or(std::vector<std::string>{})) {
    if (!entries.contains(tree)) {
      throw InputError("tree \"" + tree + "\" is in none of the input files");
    }
  }
}

bool is_wanted(const MergeRequest& request, const std::string& tree) {
  return !request.trees || std::ranges::count(*request.trees, tree) > 0;
}

void note_progress(const MergeRequest& request, std::size_t n_done) {
  if (request.progress) {
    request.progress(n_done);
  }
}

/// None if ROOT is needed: nothing is written then.
std::optional<std::map<std::string, std::int64_t>> merge_without_root(const MergeRequest& request) {
  if (request.compression && request.recluster == Recluster::never) {
    return {};  // baskets are compressed anew one by one
  }
  std::optional<std::map<std::string, std::int64_t>> entries;
  auto first = std::make_unique<InputFile>(request.inputs.front());
  if (!first->names_of_trees()) {
    return {};
  }
  const auto compression = request.compression.value_or(first->compression());
  PlainFile output{request.output, compression};
  try {
    PlainMerger merger{output, treatment_of(request, compression), request.check,
                       [&](const std::string& tree) { return is_wanted(request, tree); },
                       Origins{false}};
    std::size_t n_done = 0;
    const auto add = [&](const std::string& path) {
      const auto file = first ? std::move(first) : std::make_unique<InputFile>(path);
      const bool is_added = merger.add(*file);
      note_progress(request, n_done += is_added ? 1 : 0);
      return is_added;
    };
    if (std::ranges::all_of(request.inputs, add)) {
      entries = merger.finish();
      check_all_found(request, *entries);
      output.close();
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
  auto first = std::make_unique<InputFile>(request.inputs.front());
  const auto compression = request.compression.value_or(first->compression());
  OutputFile output{request.output, compression};
  try {
    FileMerger merger{output, compression, request,
                      [&](const std::string& path, bool is_tree) {
                        return !request.trees || (is_tree && is_wanted(request, path));
                      },
                      Origins{false}};
    std::vector<std::unique_ptr<InputFile>> files;
    for (std::size_t i = 0; i < request.inputs.size(); ++i) {
      auto file = i == 0 ? std::move(first) : std::make_unique<InputFile>(request.inputs[i]);
      merger.add(*file);
      if (i == 0) {
        files.push_back(std::move(file));  // the merged trees took their structure from it
      }
      note_progress(request, i + 1);
    }
    auto entries = merger.finish();
    check_all_found(request, entries);
    output.close();
    return entries;
  } catch (...) {
    output.abandon();
    throw;
  }
}

}  // namespace

std::map<std::string, std::int64_t> merge_files(const MergeRequest& request) {
  if (request.inputs.empty()) {
    throw InputError("there is no file to merge");
  }
  auto entries = merge_without_root(request);
  return entries ? std::move(*entries) : merge_with_root(request);
}

namespace {

/// What the inputs of a job have beside its events.
struct Carried {
  const std::vector<std::string>& inputs;
  const std::set<std::string>& exclude;
  const std::vector<FileIdentity>& identities;

  [[nodiscard]] bool wants(const std::string& path) const { return !exclude.contains(path); }

  template <typename Merger>
  void add_to(Merger& merger, InputFile& file, std::size_t number) const {
    if (!identities.empty()) {
      file.check_identity(identities.at(number));
    }
    merger.add(file);
  }
};

/// What there is to carry without ROOT; none if it is needed.
std::optional<std::set<std::string>> plain_trees(const Carried& carried) {
  std::map<std::string, std::string> structures;
  for (const auto& path : carried.inputs) {
    InputFile file{path};
    const auto trees = file.names_of_trees();
    if (!trees) {
      return {};
    }
    for (const auto& name : *trees) {
      if (name == origin_record || !carried.wants(name)) {
        continue;
      }
      const auto record = file.record_of(name, {.members = true});
      if (!record || !record->members ||
          structures.try_emplace(name, record->structure).first->second != record->structure) {
        return {};
      }
    }
  }
  std::set<std::string> names;
  for (const auto& [name, structure] : structures) {
    names.insert(name);
  }
  return names;
}

/// False if ROOT is needed: the output is as it was then.
bool carry_without_root(const Carried& carried, const std::string& output_path) {
  const auto output = PlainFile::reopen(output_path);
  if (!output) {
    return false;
  }
  InputFile first{carried.inputs.front()};
  PlainMerger merger{*output,
                     {first.compression()},
                     BasketCheck::Depth::headers,
                     [&](const std::string& tree) { return carried.wants(tree); },
                     Origins{true}};
  for (std::size_t i = 0; i < carried.inputs.size(); ++i) {
    InputFile file{carried.inputs[i]};
    carried.add_to(merger, file, i);
  }
  merger.finish();
  output->close();
  return true;
}

std::vector<std::string> carry_with_root(const Carried& carried, const std::string& output_path,
                                         IfTheyDiffer if_they_differ, BranchesByPath only) {
  auto first = std::make_unique<InputFile>(carried.inputs.front());
  const auto compression = first->compression();
  OutputFile output{output_path, compression, OutputMode::update};
  MergeRequest request;
  request.if_they_differ = if_they_differ;
  FileMerger merger{
      output,        compression,
      request,       [&](const std::string& path, bool) { return carried.wants(path); },
      Origins{true}, std::move(only)};
  carried.add_to(merger, *first, 0);
  for (std::size_t i = 1; i < carried.inputs.size(); ++i) {
    InputFile file{carried.inputs[i]};
    carried.add_to(merger, file, i);
  }
  merger.finish();
  output.close();
  return merger.names();
}

}  // namespace

std::vector<std::string> carry_objects(const std::vector<std::string>& inputs,
                                       const std::string& output_path,
                                       const std::set<std::string>& exclude,
                                       IfTheyDiffer if_they_differ, BranchesThatDiffer branches,
                                       const std::vector<FileIdentity>& identities) {
  if (inputs.empty()) {
    return {};
  }
  const Carried carried{inputs, exclude, identities};
  if (branches == BranchesThatDiffer::leave_out) {
    return carry_with_root(carried, output_path, if_they_differ, common_branches(inputs, exclude));
  }
  const auto trees = plain_trees(carried);
  if (trees && (trees->empty() || carry_without_root(carried, output_path))) {
    return {trees->begin(), trees->end()};
  }
  return carry_with_root(carried, output_path, if_they_differ, {});
}

}  // namespace forkrun::root_io
