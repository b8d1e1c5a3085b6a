#include <forkrun/formats/ttree/write/root_tree.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <set>

#include <TBasket.h>
#include <TBranch.h>
#include <TBranchElement.h>
#include <TBranchObject.h>
#include <TClass.h>
#include <TDirectory.h>
#include <TFile.h>
#include <TLeafB.h>
#include <TLeafG.h>
#include <TLeafI.h>
#include <TLeafL.h>
#include <TLeafO.h>
#include <TLeafS.h>
#include <TList.h>
#include <TTree.h>
#include <TVirtualCollectionProxy.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/root_file/input_file.hpp>
#include <forkrun/formats/ttree/layout/branch_layout.hpp>
#include <forkrun/formats/ttree/write/nested_entries.hpp>
#include <forkrun/formats/ttree/write/plain_tree.hpp>

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

/// Makes the branch of a text or a vector. ROOT may lack compiled code for its collection: nothing
/// is streamed through the branch, whose baskets are written directly.
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

/// Removes the other branches, also within those that are kept.
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

std::unique_ptr<TTree> copy_structure(TTree& tree, const std::vector<std::string>& branches,
                                      TDirectory& folder) {
  const auto kept = with_counters(tree, branches);
  folder.cd();
  // TTree::CloneTree would make an object of each class, which ROOT cannot for all without code
  std::unique_ptr<TTree> copy{static_cast<TTree*>(tree.Clone())};
  if (!copy) {
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
  return copy;
}

template <typename Leaf, typename Value>
bool include_in(TLeaf& leaf, const LeafRange& range) {
  auto* typed = dynamic_cast<Leaf*>(&leaf);
  if (typed == nullptr) {
    return false;
  }
  const auto largest = std::min(range.largest, largest_number(sizeof(Value)));
  if (largest > typed->GetMaximum()) {
    typed->SetMaximum(static_cast<Value>(largest));
  }
  if (range.least < typed->GetMinimum()) {
    typed->SetMinimum(static_cast<Value>(range.least));
  }
  return true;
}

/// Nothing if leaves of its class have no range.
void include_range(TLeaf& leaf, const LeafRange& range) {
  if (leaf.ClassName() == text_leaf) {
    return leaf.SetLen(std::max(leaf.GetLenStatic(), static_cast<int>(range.largest)));
  }
  static_cast<void>(
      include_in<TLeafI, Int_t>(leaf, range) || include_in<TLeafS, Short_t>(leaf, range) ||
      include_in<TLeafB, Char_t>(leaf, range) || include_in<TLeafL, Long64_t>(leaf, range) ||
      include_in<TLeafG, Long_t>(leaf, range) || include_in<TLeafO, Bool_t>(leaf, range));
}

/// Facts that a branch notes about a basket that is on file already.
class WrittenBasket : public TBasket {
 public:
  WrittenBasket(const BasketHeader& header, std::int64_t seek_key) {
    fNbytes = header.n_bytes;
    fObjlen = header.object_length;
    fKeylen = header.key_length;
    fNevBuf = header.n_entries;
    fSeekKey = seek_key;
  }
};

LeafInEntry leaf_in_entry(const TLeaf& leaf) {
  const bool is_fixed = is_arithmetic(leaf.ClassName()) && leaf.GetLeafCount() == nullptr;
  return {static_cast<std::size_t>(leaf.GetLenType()),
          static_cast<std::size_t>(std::max(leaf.GetLenStatic(), 0)),
          is_fixed,
          leaf.IsRange(),
          leaf.IsUnsigned(),
          leaf.ClassName() == text_leaf};
}

struct BasketAccess : TBranch {
  static Int_t& number_of(TBranch& branch) { return branch.*(&BasketAccess::fNBaskets); }
};

/// A basket that ROOT fills, and forkrun compresses and writes.
class FilledBasket final : public TBasket {
 public:
  FilledBasket(TBranch& branch, BranchWriter& writer, RecordFile& file)
      : TBasket{branch.GetName(), branch.GetTree()->GetName(), &branch},
        writer_{writer},
        file_{file} {}

  /// Gives its bytes on file; the branch asks for what is noted here.
  Int_t WriteBuffer() override {
    fLast = fBufferRef->Length();
    const std::span all{fBufferRef->Buffer(), static_cast<std::size_t>(fLast)};
    std::vector<std::int32_t> offsets;
    if (fEntryOffset != nullptr) {
      std::transform(fEntryOffset, fEntryOffset + fNevBuf, std::back_inserter(offsets),
                     [&](auto offset) { return offset - fKeylen; });
    }
    const auto header =
        writer_.write_filled(file_, std::as_bytes(all.subspan(static_cast<std::size_t>(fKeylen))),
                             std::move(offsets), fNevBufSize, fNevBuf);
    fObjlen = header.object_length;
    fSeekKey = header.seek_key;
    return fNbytes = header.n_bytes;
  }

 private:
  BranchWriter& writer_;
  RecordFile& file_;
};

/// Shares the objects that one branch reads with another branch of the same form, which fills them:
/// as TTree::CopyAddresses does, which finds branches by their names.
void share_address(TBranch& from, TBranch& to) {
  if (from.GetAddress() == nullptr) {  // it makes an object of its own
    from.IsA() == TBranchObject::Class() ? from.SetupAddresses() : from.SetAddress(nullptr);
  }
  to.SetAddress(from.GetAddress());
  if (auto* element = dynamic_cast<TBranchElement*>(&to)) {
    element->ResetDeleteObject();
  }
}

class RootBranch final : public WrittenBranch {
 public:
  explicit RootBranch(TBranch& branch) : branch_{branch} {}

  [[nodiscard]] std::string name() const override { return branch_.GetName(); }
  [[nodiscard]] std::string tree_name() const override { return branch_.GetTree()->GetName(); }
  [[nodiscard]] bool has_offsets() const override { return branch_.GetEntryOffsetLen() != 0; }
  [[nodiscard]] std::vector<LeafInEntry> leaves() const override {
    if (counts_objects(branch_)) {
      return {{.value_size = sizeof(std::int32_t), .is_fixed = true, .counts = true}};
    }
    std::vector<LeafInEntry> leaves;
    std::ranges::transform(leaves_of(branch_), std::back_inserter(leaves),
                           [](const TLeaf* leaf) { return leaf_in_entry(*leaf); });
    return leaves;
  }

  void enter(const BasketHeader& header, std::int64_t place, std::int64_t first_entry) override {
    WrittenBasket basket{header, place};
    branch_.AddBasket(basket, true, first_entry);
  }

  void include(const BranchRecord& other) override {
    const auto leaves = leaves_of(branch_);
    for (std::size_t i = 0; i < other.leaves.size(); ++i) {
      if (other.leaves[i]) {
        include_range(*leaves[i], *other.leaves[i]);
      }
    }
    set_largest_count(branch_, std::max(largest_count(branch_), other.largest_count));
  }

  void finish(std::int64_t n_entries, std::span<const std::int64_t> largest_counts) override {
    const auto all = leaves_of(branch_);
    const auto in_entry = leaves();
    for (std::size_t i = 0; i < in_entry.size(); ++i) {
      const auto largest = i < largest_counts.size() ? largest_counts[i] : 0;
      if (counts_objects(branch_)) {
        set_largest_count(branch_, std::max(largest_count(branch_), static_cast<int>(largest)));
      } else if (in_entry[i].counts || in_entry[i].is_text) {
        include_range(*all[i], {all[i]->GetMinimum(), largest});
      }
    }
    branch_.AddLastBasket(n_entries);
  }

 private:
  TBranch& branch_;
};

}  // namespace

RootTree::RootTree(OutputFile& file, const std::string& path, const std::string& title)
    : file_{file}, tree_{std::make_unique<TTree>(path.c_str(), title.c_str(), 99, &file.file())} {}

RootTree::RootTree(OutputFile& file, TDirectory& folder, std::string key, TTree& from,
                   const std::vector<std::string>& branches)
    : file_{file}, key_{std::move(key)}, tree_{copy_structure(from, branches, folder)} {}

RootTree::~RootTree() = default;

/// Not by TTree::GetBranch, which finds branches that the copy of a tree was made without.
bool RootTree::has(const std::string& branch) const {
  return tree_->GetListOfBranches()->FindObject(branch.c_str()) != nullptr;
}

std::unique_ptr<WrittenBranch> RootTree::add(const NewBranch& column) {
  return branch(column.type.is_nested()
                    ? make_object_branch(*tree_, column)
                    : make_branch(*tree_, column.name,
                                  leaf_title(column) + "/" + leaf_letter(column.type.element)));
}

std::unique_ptr<WrittenBranch> RootTree::add_counter(const std::string& name) {
  return branch(make_branch(*tree_, name, leaf_name(name) + "/i"));
}

std::unique_ptr<WrittenBranch> RootTree::branch(TBranch& branch) {
  return std::make_unique<RootBranch>(branch);
}

void RootTree::write(std::int64_t n_entries) {
  tree_->SetEntries(n_entries);
  if (key_.empty()) {
    static_cast<void>(tree_.release());  // the file writes it when it closes, and deletes it
    return;
  }
  file_.write_and_release(*tree_, key_);
  tree_.reset();
}

void FilledBranch::open(TBranch& from, const std::string& path) {
  const TDirectory::TContext nowhere{nullptr};  // else histograms in branches belong to the file
  branch_.ResetAddress();                       // it was that of a branch of the file before
  share_address(from, branch_);
  from_ = &from;
  path_ = path;
}

/// ROOT fills the basket that is there, and once it is written fills it again.
void FilledBranch::take_over_baskets() {
  for (std::size_t i = 0; i < within_.size(); ++i) {
    auto& branch = *within_[i];
    auto& baskets = *branch.GetListOfBaskets();
    if (baskets.At(branch.GetWriteBasket()) == nullptr) {
      branch.AddLastBasket(branch.GetEntryNumber());  // it says where the next one begins
      baskets.AddAtAndExpand(new FilledBasket{branch, writers_[i], file_}, branch.GetWriteBasket());
      ++BasketAccess::number_of(branch);
    }
  }
}

void FilledBranch::add(std::span<const EntryRange> entries) {
  const TDirectory::TContext nowhere{nullptr};
  const CapturedMessages messages;
  take_over_baskets();
  bool is_read = true;
  bool is_filled = true;
  for (const auto& range : entries) {
    for (auto entry = range.first; is_read && is_filled && entry < range.last; ++entry) {
      is_read = from_->GetEntry(entry, 1) >= 0 && messages.first_error().empty();
      is_filled = !is_read || branch_.Fill() >= 0;
    }
  }
  const auto why = messages.first_error();  // ROOT continues
  const auto text = std::string{": branch \""} + branch_.GetName() + "\" cannot be copied" +
                    (why.empty() ? "" : ": " + why);
  if (!is_read) {
    throw InputError(path_ + text);
  }
  if (!is_filled || !why.empty()) {
    throw OutputError(file_.path() + text);
  }
}

void FilledBranch::flush() {
  const CapturedMessages messages;
  branch_.FlushBaskets();
}

std::vector<const BranchWriter*> FilledBranch::written() const {
  std::vector<const BranchWriter*> writers;
  for (const auto* branch : all_branches(branch_).filled) {
    const auto at = std::ranges::find(within_, branch);
    writers.push_back(
        at == within_.end() ? nullptr : &writers_[static_cast<std::size_t>(at - within_.begin())]);
  }
  return writers;
}

std::unique_ptr<WrittenTree> new_tree(RecordFile& file, const std::string& path,
                                      const std::string& title, Compression compression) {
  if (auto* plain = dynamic_cast<PlainFile*>(&file)) {
    return std::make_unique<PlainTree>(*plain, path, TreeMembers{path, title}, compression);
  }
  return std::make_unique<RootTree>(dynamic_cast<OutputFile&>(file), path, title);
}

std::unique_ptr<RecordFile> open_to_write(const std::string& path, Compression compression,
                                          OutputMode mode, bool is_plain) {
  auto plain = !is_plain                    ? nullptr
               : mode == OutputMode::create ? std::make_unique<PlainFile>(path, compression)
                                            : reopen_with_trees(path);
  if (plain) {
    return plain;
  }
  return std::make_unique<OutputFile>(path, compression, mode);
}

}  // namespace forkrun::root_io
