#include <forkrun/formats/ttree/read/tree_file.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <TBranch.h>
#include <TChain.h>
#include <TFile.h>
#include <TLeaf.h>
#include <TTree.h>

#include <forkrun/core/data/counted.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/data/is_text.hpp>
#include <forkrun/formats/rntuple/ntuple_table.hpp>
#include <forkrun/formats/root_file/directory_keys.hpp>
#include <forkrun/formats/ttree/layout/leaf_form.hpp>
#include <forkrun/formats/ttree/read/input_tree.hpp>

namespace forkrun::root_io {

namespace {

/// The largest number of entries of branches and their branches. \throws InputError
std::int64_t most_entries(TObjArray& branches, const std::string& where, int depth = 0) {
  constexpr int deepest = 100;
  std::int64_t n_most = 0;
  for (TObject* object : branches) {
    auto* branch = dynamic_cast<TBranch*>(object);
    if (branch == nullptr || depth == deepest) {
      throw InputError(where + " is damaged: an entry of its list of branches is not a branch");
    }
    if (!is_text(branch->GetName())) {
      throw InputError(where + " is damaged: the name of branch " +
                       std::to_string(branches.IndexOf(branch)) + " is not a text");
    }
    if (*branch->GetFileName() != '\0') {
      throw InputError(where + ": the baskets of branch \"" + branch->GetName() +
                       "\" are in another file, " + branch->GetFileName() +
                       ", which is not read; write one file of both with ROOT "
                       "(TTree::CloneTree), or leave the branch out there");
    }
    n_most = std::max({n_most, static_cast<std::int64_t>(branch->GetEntries()),
                       most_entries(*branch->GetListOfBranches(), where, depth + 1)});
  }
  return n_most;
}

/// ROOT looks for branches by way of the leaves, and trusts them. \throws InputError
void check_leaves(TTree& tree, const std::string& where) {
  for (int i = 0; i < tree.GetListOfLeaves()->GetEntriesFast(); ++i) {
    const auto* leaf = dynamic_cast<TLeaf*>(tree.GetListOfLeaves()->UncheckedAt(i));
    if (leaf == nullptr || leaf->GetBranch() == nullptr) {
      throw InputError(where + " is damaged: leaf " + std::to_string(i) + " is of no branch");
    }
    if (!is_possible(leaf->ClassName(), leaf->GetLenType(), leaf->GetOffset())) {
      throw InputError(where + " is damaged: leaf \"" + leaf->GetName() + "\" (" +
                       leaf->ClassName() + ") has values of " +
                       counted(leaf->GetLenType(), "byte"));
    }
  }
}

/// \throws InputError if branches or leaves are something else or have impossible names, or none
/// has as many entries as the tree says.
void check_tree(TTree& tree, const std::string& where) {
  check_leaves(tree, where);
  const auto n_most = most_entries(*tree.GetListOfBranches(), where);
  const std::int64_t n_entries = tree.GetEntries();
  if (n_entries < 0 || (n_entries > n_most && tree.GetListOfBranches()->GetEntriesFast() > 0)) {
    throw InputError(where + " is damaged: it says that it has " +
                     counted(n_entries, "entry", "entries") + ", its branches have " +
                     std::to_string(n_most));
  }
}

std::string joined(const std::set<std::string>& names) {
  std::string text;
  for (const auto& name : names) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

std::string files_of(TChain& chain) {
  constexpr int n_shown = 5;
  const auto& elements = *chain.GetListOfFiles();
  std::string text;
  for (int i = 0; i < std::min(elements.GetEntries(), n_shown); ++i) {
    text += (i == 0 ? "" : ", ") + std::string{elements.At(i)->GetTitle()};
  }
  const auto n_more = elements.GetEntries() - n_shown;
  return n_more > 0 ? text + " and " + std::to_string(n_more) + " more" : text;
}

std::string tree_names(TFile& file) {
  std::map<std::string, std::set<std::string>> names;  // by class
  for_each_object(file, [&](const std::string& path, const TKey& key, const TClass* type) {
    const bool is_tree = type != nullptr && type->InheritsFrom(TTree::Class());
    names[is_tree ? "TTree" : key.GetClassName()].insert(path);
  });
  if (names.contains("TTree") && names.contains("ROOT::RNTuple")) {
    return "its trees are: " + joined(names["TTree"]) +
           ", its RNTuples: " + joined(names["ROOT::RNTuple"]);
  }
  if (names.contains("TTree")) {
    return "its trees are: " + joined(names["TTree"]);
  }
  if (names.contains("ROOT::RNTuple")) {
    return "its RNTuples are: " + joined(names["ROOT::RNTuple"]);
  }
  return "it contains no tree";
}

}  // namespace

TreeFile::TreeFile(const std::string& path) : InputFile{path} {}

TreeFile::TreeFile(const std::string& path, WithoutRoot tag) : InputFile{path, tag} {}

TreeFile::~TreeFile() = default;

const InputTree& TreeFile::input_tree(const std::string& name) {
  auto& opened = trees_[name];
  if (!opened) {
    opened = tree_without_root(name);
  }
  if (!opened) {
    opened = tree_of_root(tree(name), name, *this);
  }
  return *opened;
}

void TreeFile::keep_tree(const std::string& name, TreeRecord& record) {
  if (auto& opened = trees_[name]; record.tops && !opened) {
    TreeRecord kept;
    kept.baskets = record.baskets;
    kept.tops = std::exchange(record.tops, {});
    kept.most_entries = record.most_entries;
    kept.has_friends = record.has_friends;
    kept.has_user_objects = record.has_user_objects;
    opened = tree_of_record(std::move(kept), name, *this);
  }
}

bool is_plain_tree(const std::string& path, const std::string& tree) {
  const TreeFile file{path, TreeFile::WithoutRoot{}};
  return file.tree_without_root(tree) != nullptr;
}

bool has_plain_trees_alone(const std::string& path) {
  const TreeFile file{path, TreeFile::WithoutRoot{}};
  const auto trees = file.names_of_trees();
  return trees && std::ranges::all_of(*trees, [&](const auto& tree) {
           return file.plain_members(tree).has_value();
         });
}

/// None if ROOT has to look at it, were it only to say what is wrong.
std::optional<TreeRecord> TreeFile::record_of(const std::string& tree, PartsOfTree wanted) const {
  const auto key = outline() ? outline()->find(tree) : std::nullopt;
  if (!key || key->type != "TTree") {
    return {};
  }
  auto object = outline()->object(*key);
  if (!object && forget_damaged({key->place, key->n_bytes})) {
    object = outline()->object(*key);
  }
  return object ? parse_tree_record(*object, key->key_length, wanted) : std::nullopt;
}

std::unique_ptr<InputTree> TreeFile::tree_without_root(const std::string& name) const {
  auto record = record_of(name, {.tops = true});
  return record && record->tops ? tree_of_record(std::move(*record), name, *this) : nullptr;
}

std::optional<TreeMembers> TreeFile::plain_members(const std::string& tree) const {
  auto record = record_of(tree, {.members = true});
  return record ? std::move(record->members) : std::nullopt;
}

std::optional<std::vector<std::string>> TreeFile::names_of_trees(Ntuples ntuples) const {
  std::vector<std::string> names;
  if (outline()) {
    for (const auto& key : outline()->keys()) {
      if (ntuples == Ntuples::passed_over && rntuple::is_class_name(key.type)) {
        continue;
      }
      if (key.type != "TTree" || std::ranges::count(names, key.name) > 0 ||
          key.name.find('/') != std::string::npos) {
        return {};
      }
      names.push_back(key.name);
    }
  }
  return outline() ? std::optional{names} : std::nullopt;
}

bool TreeFile::lacks(const std::string& tree) const {
  if (outline() && tree.find_first_of("/;") == std::string::npos) {
    return std::ranges::find(outline()->keys(), tree, &FileKey::name) == outline()->keys().end();
  }
  return find_object(file(), tree) == nullptr;
}

TTree& TreeFile::tree(const std::string& name) const {
  return naming_file(path(), [&]() -> TTree& {
    auto& known = of_root_[name];
    if (known == nullptr) {
      const CapturedMessages messages;
      auto* key = find_object(file(), name);  // TFile::Get takes a tree's own name for the key's
      auto* tree = key == nullptr ? nullptr : key->ReadObject<TTree>();
      messages.require_undamaged(path());
      if (const auto unknown = messages.unknown_class(); !unknown.empty()) {
        throw InputError(
            path() + ": tree \"" + name + "\" has an object of class " + unknown +
            " next to its branches (TTree::GetUserInfo), for which ROOT has no dictionary "
            "here: it would be lost; take the tree without it, or leave it out");
      }
      if (tree == nullptr) {
        throw InputError(path() + ": no tree \"" + name + "\"; " + tree_names(file()));
      }
      if (auto* chain = dynamic_cast<TChain*>(tree)) {
        throw InputError(path() + ": \"" + name + "\" is a TChain, which only names files: " +
                         files_of(*chain) + "; read these");
      }
      check_tree(*tree, path() + ": tree \"" + name + '"');
      if (is_local()) {
        tree->SetCacheSize(0);  // 30 MB of each tree, for reading from afar
      }
      known = tree;
    }
    return *known;
  });
}

}  // namespace forkrun::root_io
