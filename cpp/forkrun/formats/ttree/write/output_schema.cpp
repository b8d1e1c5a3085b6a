#include <forkrun/formats/ttree/write/output_schema.hpp>

#include <array>
#include <functional>
#include <set>

#include <TBranch.h>
#include <TBranchElement.h>
#include <TBranchObject.h>
#include <TClass.h>
#include <TDirectory.h>
#include <TFile.h>
#include <TLeaf.h>
#include <TList.h>
#include <TTree.h>
#include <TVirtualCollectionProxy.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/root_file/input_file.hpp>
#include <forkrun/formats/ttree/layout/branch_layout.hpp>
#include <forkrun/formats/ttree/write/nested_entries.hpp>

namespace forkrun::root_io {

namespace {

constexpr int basket_size = 32000;

TBranch& make_branch(TTree& tree, const std::string& name, const std::string& leaf) {
  static std::array<std::byte, 8> never_filled;  // baskets are written directly
  const CapturedMessages messages;
  TBranch* branch = tree.Branch(name.c_str(), never_filled.data(), leaf.c_str(), basket_size);
  if (branch == nullptr || branch->IsZombie()) {
    const auto why = messages.first();
    throw OutputError("tree \"" + std::string{tree.GetName()} + "\": branch \"" + name +
                      "\" cannot be made" + (why.empty() ? "" : ": " + why));
  }
  branch->SetAddress(nullptr);  // as of a branch that was read: files of both have the same bytes
  return *branch;
}

/// Of a text or a vector. Its collection may be one that ROOT has no compiled code for: nothing is
/// streamed through the branch, whose baskets are written directly.
TBranch& make_object_branch(TTree& tree, const NewBranch& column) {
  if (column.type.n_in_item() > 1) {
    throw OutputError("tree \"" + std::string{tree.GetName()} + "\": \"" + column.name +
                      "\" has arrays in lists in lists, which no branch can hold; drop it, or "
                      "write format = \"rntuple\"");
  }
  const auto class_name = class_of(column.type);
  TClass* type = TClass::GetClass(class_name.c_str());
  if (type != nullptr && type->GetCollectionProxy() != nullptr) {
    auto* branch = new TBranchElement(&tree, column.name.c_str(), type->GetCollectionProxy(),
                                      basket_size, 0);  // owned by the tree
    tree.GetListOfBranches()->Add(branch);
    return *branch;
  }
  static std::string never_filled;
  static auto* address = &never_filled;
  const CapturedMessages messages;
  TBranch* branch = tree.Branch(column.name.c_str(), class_name.c_str(), &address, basket_size, 0);
  if (branch == nullptr) {
    const auto why = messages.first();
    throw OutputError("tree \"" + std::string{tree.GetName()} + "\": branch \"" + column.name +
                      "\" of " + class_name +
                      " cannot be made: " + (why.empty() ? "ROOT knows no such class" : why));
  }
  return *branch;
}

std::set<std::string> with_counters(TTree& tree, const std::vector<std::string>& branches) {
  const std::set<std::string> wanted{branches.begin(), branches.end()};
  auto names = wanted;
  auto missing = wanted;
  for (TObject* object : *tree.GetListOfBranches()) {
    auto& branch = static_cast<TBranch&>(*object);
    if (!wanted.contains(branch.GetName())) {
      continue;
    }
    missing.erase(branch.GetName());
    for (TObject* leaf : *branch.GetListOfLeaves()) {
      if (const TLeaf* counter = static_cast<TLeaf*>(leaf)->GetLeafCount()) {
        names.insert(counter->GetBranch()->GetName());
      }
    }
  }
  if (!missing.empty()) {
    throw OutputError("tree \"" + std::string{tree.GetName()} + "\" has no branch \"" +
                      *missing.begin() + "\" to keep");
  }
  return names;
}

}  // namespace

TBranch& add_branch(TTree& tree, const NewBranch& column) {
  if (column.type.is_nested()) {
    return make_object_branch(tree, column);
  }
  return make_branch(tree, column.name,
                     leaf_title(column) + "/" + leaf_letter(column.type.element));
}

TBranch& add_counter(TTree& tree, const std::string& name) {
  return make_branch(tree, name, leaf_name(name) + "/i");
}

namespace {

/// Removes others, also within those that are kept.
void keep_branches(TObjArray& branches, const std::function<bool(TBranch&)>& is_kept) {
  for (int i = 0; i < branches.GetEntriesFast(); ++i) {
    auto* branch = static_cast<TBranch*>(branches.UncheckedAt(i));
    if (!is_kept(*branch)) {
      branches.RemoveAt(i);
      delete branch;  // takes its leaves from the tree's list
      continue;
    }
    branch->ResetBit(kDoNotProcess);
    // A basket says itself that its offsets are left out. New ones have them, which ROOT would not
    // look for in a branch that is known to have none.
    ROOT::TIOFeatures none;
    branch->SetIOFeatures(none);
    keep_branches(*branch->GetListOfBranches(),
                  [](TBranch& within) { return !was_disabled(within); });
  }
  branches.Compress();
}

}  // namespace

TTree& copy_structure(TTree& tree, const std::vector<std::string>& branches, TDirectory& folder) {
  const auto kept = with_counters(tree, branches);
  folder.cd();
  // TTree::CloneTree would make an object of each class, which ROOT cannot for all without code
  auto* copy = static_cast<TTree*>(tree.Clone());
  if (copy == nullptr) {
    throw OutputError(std::string{folder.GetPath()} + ": tree \"" + tree.GetName() +
                      "\" cannot be made");
  }
  copy->SetDirectory(&folder);
  keep_branches(*copy->GetListOfBranches(),
                [&](TBranch& branch) { return kept.contains(branch.GetName()); });
  copy->GetListOfLeaves()->Compress();
  copy->Reset();
  for (TObject* leaf : *copy->GetListOfLeaves()) {  // as TTree::CloneTree: that of the new file
    static_cast<TLeaf*>(leaf)->GetBranch()->SetCompressionSettings(
        folder.GetFile()->GetCompressionSettings());
  }
  copy->SetIOFeatures(ROOT::TIOFeatures{});
  return *copy;
}

/// As TTree::CopyAddresses does, which finds branches by their names.
void share_address(TBranch& from, TBranch& to) {
  if (from.GetAddress() == nullptr) {  // it makes an object of its own
    from.IsA() == TBranchObject::Class() ? from.SetupAddresses() : from.SetAddress(nullptr);
  }
  to.SetAddress(from.GetAddress());
  if (auto* element = dynamic_cast<TBranchElement*>(&to)) {
    element->ResetDeleteObject();
  }
}

}  // namespace forkrun::root_io
