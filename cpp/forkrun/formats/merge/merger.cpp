#include <forkrun/formats/merge/merger.hpp>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include <TClass.h>
#include <TFile.h>
#include <TKey.h>
#include <TTree.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/root_file/directory_keys.hpp>

namespace forkrun::root_io {

namespace {

std::string path_in(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : folder + "/" + name;
}

bool is_rntuple(const TKey& key) { return std::strcmp(key.GetClassName(), "ROOT::RNTuple") == 0; }

/// A TChain is but a list of files.
bool is_tree(const TKey& key) {
  const TClass* type = TClass::GetClass(key.GetClassName());
  return type != nullptr && type->InheritsFrom(TTree::Class()) &&
         std::strcmp(type->GetName(), "TChain") != 0;
}

/// ROOT writes the ids of the processes that references need by itself.
bool belongs_to_file(const TKey& key, const std::string& path) {
  return std::strcmp(key.GetClassName(), "TProcessID") == 0 || path == origin_record;
}

}  // namespace

Merger::Merger(RecordFile& output, MergeSettings settings, WantedTrees wanted, Origins& origins)
    : output_{output},
      settings_{std::move(settings)},
      wanted_{std::move(wanted)},
      origins_{origins} {
  if (output_.root != nullptr) {
    objects_.emplace(*output_.root, settings_.treatment.compression, settings_.if_they_differ,
                     settings_.unknown);
  }
}

bool Merger::add(TreeFile& file) {
  if (output_.plain != nullptr) {
    file.check_keys();
    return add_plain_trees(file);
  }
  naming_file(file.path(), [&] {
    file.check_keys();
    origins_.begin_file(file);
    add_directory(file, file.file(), "");
  });
  objects_->end_file(file);
  return true;
}

bool Merger::add_plain_trees(TreeFile& file) {
  const auto names = file.names_of_trees(Ntuples::passed_over);
  return names && naming_file(file.path(), [&] {
           origins_.begin_file(file);
           return std::ranges::all_of(*names, [&](const auto& name) {
             return name == origin_record || !wanted_(name) ||
                    add_tree(file, nullptr, {"", name, name});
           });
         });
}

/// Folders first: ROOT makes none of a name that an object has.
void Merger::add_directory(TreeFile& file, TDirectory& directory, const std::string& folder) {
  auto keys = newest_keys(directory);
  std::ranges::stable_partition(
      keys, [](const TKey* key) { return is_folder(TClass::GetClass(key->GetClassName())); });
  for (auto* key : keys) {
    if (is_folder(TClass::GetClass(key->GetClassName()))) {
      add_folder(file, *key, path_in(folder, key->GetName()));
    } else {
      add_key(file, *key, folder);
    }
  }
}

void Merger::add_key(TreeFile& file, TKey& key, const std::string& folder) {
  const auto path = path_in(folder, key.GetName());
  const auto asked = wanted_(path);
  const bool can_be_asked_for = !settings_.only_trees || is_tree(key);
  if (!asked || !can_be_asked_for || is_rntuple(key) || belongs_to_file(key, path)) {
    return;
  }
  check_kind(file, path, folder, is_tree(key) ? "a tree" : "an object");
  if (is_tree(key)) {
    const auto* asked_key = *asked == path ? &key : find_object(file.file(), *asked);
    add_tree(file, asked_key, {folder, key.GetName(), *asked});
  } else if (!ObjectMerger::merges(key) || origins_.takes_object(path)) {
    objects_->add(file, key, folder);
  }
}

TreeMerger& Merger::merger_of(const TreePlace& place) {
  const auto path = place.path();
  const auto known =
      std::ranges::find(trees_, path, [](const auto& tree) { return tree->place().path(); });
  if (known != trees_.end()) {
    return **known;
  }
  return *trees_.emplace_back(
      std::make_unique<TreeMerger>(output_, place, settings_.treatment, settings_.check));
}

bool Merger::add_tree(TreeFile& file, const TKey* key, const TreePlace& place) {
  const auto path = place.path();
  const auto taken = origins_.take_rows(path);
  auto& merger = merger_of(place);
  const auto before = merger.n_entries();
  const auto n_rows = merger.add(file, key, taken);
  if (n_rows) {
    origins_.check_rows(path, *n_rows);
    origins_.add_rows(path, taken, *n_rows, merger.n_entries() - before);
  }
  return n_rows.has_value();
}

void Merger::add_folder(TreeFile& file, TKey& key, const std::string& path) {
  const CapturedMessages messages;
  auto& folder = open_folder(key);
  messages.require_undamaged(file.path());
  if (!settings_.only_trees) {
    output_.root->folder(path, folder.GetTitle());
  }
  add_directory(file, folder, path);
}

/// Checks that a tree in one file is one in all, and that there is no object "a/b" next to an
/// object "b" in folder "a": one would be taken for the other.
void Merger::check_kind(const TreeFile& file, const std::string& path, const std::string& folder,
                        const std::string& kind) {
  const auto& before = kinds_.try_emplace(path, folder, kind).first->second;
  if (before.folder != folder) {
    throw InputError(file.path() + ": two objects have the path \"" + path +
                     "\": one has a slash in its name; rename it");
  }
  if (before.kind != kind) {
    throw InputError(file.path() + ": \"" + path + "\" is " + kind + ", and " + before.kind +
                     " in the files before; merge such files apart");
  }
}

std::map<std::string, std::int64_t> Merger::finish() {
  std::map<std::string, std::int64_t> entries;
  for (const auto& tree : trees_) {
    entries[tree->place().path()] = tree->finish();
  }
  if (objects_) {
    objects_->finish();
  }
  if (const auto origins = origins_.of_output(); !origins.empty()) {
    write_origins(output_.records, origins, settings_.treatment.compression);
  }
  return entries;
}

std::vector<std::string> Merger::notes() const {
  std::vector<std::string> notes;
  for (const auto& tree : trees_) {
    add_note(notes, tree->place().path(), tree->reclustering());
    std::ranges::copy(tree->notes(), std::back_inserter(notes));
  }
  std::ranges::sort(notes);
  for (const auto& lines :
       {origins_.notes(), objects_ ? objects_->notes() : std::vector<std::string>{}}) {
    notes.insert(notes.end(), lines.begin(), lines.end());
  }
  return notes;
}

void Merger::check(const std::string& path) const {
  for (const auto& tree : trees_) {
    tree->check(path);
  }
}

}  // namespace forkrun::root_io
