#include <forkrun/formats/ttree/write/relations.hpp>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include <TClass.h>
#include <TFriendElement.h>
#include <TList.h>
#include <TTree.h>
#include <TTreeIndex.h>

#include <forkrun/formats/ttree/read/tree_file.hpp>

namespace forkrun::root_io {

namespace {

/// Classes of the library TreePlayer, which ROOT loads where a tree has an index.
struct IndexAccess : TTreeIndex {
  static TString& major_of(TTreeIndex& index) { return index.*(&IndexAccess::fMajorName); }
  static TString& minor_of(TTreeIndex& index) { return index.*(&IndexAccess::fMinorName); }
  static Long64_t& size_of(TTreeIndex& index) { return index.*(&IndexAccess::fN); }
  static Long64_t*& majors_of(TTreeIndex& index) { return index.*(&IndexAccess::fIndexValues); }
  static Long64_t*& minors_of(TTreeIndex& index) {
    return index.*(&IndexAccess::fIndexValuesMinor);
  }
  static Long64_t*& entries_of(TTreeIndex& index) { return index.*(&IndexAccess::fIndex); }
};

struct FriendAccess : TTree {
  static TList*& of(TTree& tree) { return tree.*(&FriendAccess::fFriends); }
};

/// None if there is none, or one of another class.
TTreeIndex* index_of(TTree& tree) {
  auto* index = tree.GetTreeIndex();
  const bool is_known = index != nullptr && std::strcmp(index->IsA()->GetName(), "TTreeIndex") == 0;
  return is_known ? static_cast<TTreeIndex*>(index) : nullptr;
}

}  // namespace

void RebuiltIndex::begin(TTree& tree) {
  if (auto* index = index_of(tree)) {
    major_ = index->GetMajorName();
    minor_ = index->GetMinorName();
  } else if (tree.GetTreeIndex() != nullptr) {
    problem_ = "the index of its events is of a class that cannot be rebuilt, and is left out";
  }
}

void RebuiltIndex::open(TTree& tree) {
  if (!is_wanted()) {
    return;
  }
  const CapturedMessages messages;
  const auto n = static_cast<std::size_t>(tree.GetEntries());
  of_input_ = {std::vector<long long>(n), std::vector<long long>(n)};
  const auto n_found = n == 0 ? 0 : tree.BuildIndex(major_.c_str(), minor_.c_str());
  auto* index = index_of(tree);
  if (n > 0 && (n_found != static_cast<Long64_t>(n) || index == nullptr)) {
    problem_ = "the index of its events by " + major_ + " and " + minor_ +
               " cannot be made for all files, and is left out";
    major_.clear();
    return;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const auto entry = static_cast<std::size_t>(index->GetIndex()[i]);
    of_input_.major.at(entry) = index->GetIndexValues()[i];
    of_input_.minor.at(entry) = index->GetIndexValuesMinor()[i];
  }
}

void RebuiltIndex::add(EntryRun entries) {
  if (!is_wanted()) {
    return;
  }
  const auto append = [&](const auto& from, auto& to) {
    to.insert(to.end(), from.begin() + entries.first, from.begin() + entries.last);
  };
  append(of_input_.major, values_.major);
  append(of_input_.minor, values_.minor);
}

void RebuiltIndex::finish(TTree& tree) {
  delete tree.GetTreeIndex();
  tree.SetTreeIndex(nullptr);
  const auto n = values_.major.size();
  if (!is_wanted() || n != static_cast<std::size_t>(tree.GetEntries())) {
    return;
  }
  auto* index = static_cast<TTreeIndex*>(TClass::GetClass("TTreeIndex")->New());
  IndexAccess::major_of(*index) = major_.c_str();
  IndexAccess::minor_of(*index) = minor_.c_str();
  IndexAccess::size_of(*index) = static_cast<Long64_t>(n);
  auto* entries = IndexAccess::entries_of(*index) = new Long64_t[n];
  std::iota(entries, entries + n, 0);
  std::ranges::stable_sort(entries, entries + n, {}, [&](Long64_t entry) {
    const auto at = static_cast<std::size_t>(entry);
    return std::pair{values_.major[at], values_.minor[at]};
  });
  auto* majors = IndexAccess::majors_of(*index) = new Long64_t[n];
  auto* minors = IndexAccess::minors_of(*index) = new Long64_t[n];
  for (std::size_t i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(entries[i]);
    majors[i] = values_.major[at];
    minors[i] = values_.minor[at];
  }
  index->SetTree(&tree);
  tree.SetTreeIndex(index);
}

void drop_friends(TTree& tree) {
  auto*& friends = FriendAccess::of(tree);
  if (friends != nullptr) {
    friends->Delete();
    delete friends;
    friends = nullptr;
  }
}

}  // namespace forkrun::root_io
