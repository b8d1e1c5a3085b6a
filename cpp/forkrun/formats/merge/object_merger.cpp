#include <forkrun/formats/merge/object_merger.hpp>

#include <TClass.h>
#include <TCollection.h>
#include <TDirectory.h>
#include <TFile.h>
#include <TFileMergeInfo.h>
#include <TH1.h>
#include <THnBase.h>
#include <TKey.h>
#include <TList.h>
#include <TProfile.h>
#include <TProfile2D.h>
#include <TProfile3D.h>
#include <TTree.h>
#include <algorithm>

#include <forkrun/core/data/errors.hpp>

namespace forkrun::root_io {

namespace {

/// Trees are not merged here; a TChain is but a list of files, and its merge would make a tree.
/// The merges of TGraphMultiErrors and TClonesArray crash in ROOT 6.40, and `hadd` with them.
bool can_be_merged(const TClass* type) {
  return type != nullptr && type->IsLoaded() && type->IsTObject() && type->GetMerge() != nullptr &&
         !type->InheritsFrom(TTree::Class()) && !type->InheritsFrom("TGraphMultiErrors") &&
         !type->InheritsFrom("TClonesArray");
}

bool is_plain(const TObject& object) {
  return object.InheritsFrom(TH1::Class()) && !object.InheritsFrom(TProfile::Class()) &&
         !object.InheritsFrom(TProfile2D::Class()) && !object.InheritsFrom(TProfile3D::Class()) &&
         !object.InheritsFrom("TH2Poly");
}

/// ROOT casts what it merges without asking. Histograms of other numbers (TH1F, TH1D) are fine.
bool fit_together(const TObject& sum, const TObject& part) {
  if (part.InheritsFrom(sum.IsA())) {
    return true;
  }
  return is_plain(sum) && is_plain(part) &&
         static_cast<const TH1&>(sum).GetDimension() ==
             static_cast<const TH1&>(part).GetDimension();
}

std::string described(const std::string& path, const std::string& type) {
  return "object \"" + path + "\" (" + type + ")";
}

std::unique_ptr<TObject> read(TreeFile& file, TKey& key, const std::string& path) {
  static_cast<void>(read_object(file, key, path));  // ROOT would not see all damage
  const CapturedMessages messages;
  const TDirectory::TContext nowhere{nullptr};
  std::unique_ptr<TObject> object{key.ReadObj()};
  if (!object || !messages.first_error().empty()) {
    throw InputError(file.path() + ": " + described(path, key.GetClassName()) +
                     " cannot be read: " + messages.first());
  }
  if (const auto add_to_folder = object->IsA()->GetDirectoryAutoAdd()) {
    add_to_folder(object.get(), nullptr);  // it outlives its file
  }
  if (auto* collection = dynamic_cast<TCollection*>(object.get())) {
    collection->SetOwner();
  }
  return object;
}

/// ROOT's objections to merging; "" if it merged them. THnBase drops bins that do not fit with only
/// a warning.
std::string merge_into(TObject& sum, TObject& part, TDirectory& folder) {
  const CapturedMessages messages;
  const TDirectory::TContext nowhere{nullptr};
  TFileMergeInfo info{&folder};
  info.fIsFirst = false;
  TList parts;
  parts.Add(&part);
  const auto result = sum.IsA()->GetMerge()(&sum, &parts, &info);
  parts.Clear("nodelete");
  const auto message =
      sum.InheritsFrom(THnBase::Class()) ? messages.first() : messages.first_error();
  return result < 0 && message.empty() ? "ROOT does not say why" : message;
}

std::string one_line(std::string text) {
  for (auto at = text.find('\n'); at != std::string::npos; at = text.find('\n')) {
    text.replace(at, text.find_first_not_of("\n ", at) - at, " ");
  }
  return text;
}

std::string path_of(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : folder + "/" + name;
}

}  // namespace

bool ObjectMerger::merges(const TKey& key) {
  return can_be_merged(TClass::GetClass(key.GetClassName()));
}

void ObjectMerger::add(TreeFile& file, TKey& key, const std::string& folder) {
  const auto path = path_of(folder, key.GetName());
  if (const auto merged = merged_.find(path); merged != merged_.end()) {
    merge(file, key, merged->second, path);
  } else if (const auto kept = kept_.find(path); kept != kept_.end()) {
    ++kept->second.n_files;
    compare(file, key, kept->second, path);
  } else if (merges(key)) {
    merged_[path] = {folder, key.GetName(), file.path(), read(file, key, path)};
  } else {
    keep(file, key, folder, path);
  }
}

void ObjectMerger::merge(TreeFile& file, TKey& key, Merged& merged, const std::string& path) {
  const auto part = read(file, key, path);
  const auto differs = [&](const std::string& why) {
    return InputError(file.path() + ": " + described(path, key.GetClassName()) +
                      " cannot be merged with that of " + merged.first_file + " (" +
                      merged.sum->ClassName() + "): " + why +
                      "; merge such files apart, or only trees (--trees; in a job merge.carry = "
                      "false)");
  };
  if (!fit_together(*merged.sum, *part)) {
    throw differs("their classes differ");
  }
  const auto why = merge_into(*merged.sum, *part, output_.folder(merged.folder));
  if (!why.empty()) {
    throw differs(one_line(why));
  }
}

void ObjectMerger::compare(TreeFile& file, TKey& key, Kept& kept, const std::string& path) {
  const auto record = read_object(file, key, path);
  if (kept.is_left_out || (record.type == kept.type && record.bytes == kept.bytes)) {
    return;
  }
  ++kept.n_others;
  if (if_they_differ_ == IfTheyDiffer::error) {
    differing_.push_back(described(path, record.type) + " differs from that of " + kept.first_file +
                         (record.type == kept.type ? "" : " (" + kept.type + ")"));
  }
}

void ObjectMerger::end_file(const TreeFile& file) const {
  constexpr std::size_t n_shown = 8;
  if (differing_.empty()) {
    return;
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(differing_.size(), n_shown); ++i) {
    text += (i == 0 ? "" : "; ") + differing_[i];
  }
  if (differing_.size() > n_shown) {
    text += "; so do " + std::to_string(differing_.size() - n_shown) + " more";
  }
  throw InputError(file.path() + ": " + text +
                   ", and ROOT cannot merge such objects; keep the first one with --keep-first (in "
                   "a job merge.keep_first = true)");
}

void ObjectMerger::keep(TreeFile& file, TKey& key, const std::string& folder,
                        const std::string& path) {
  auto record = read_object(file, key, path);
  TDirectory& target = output_.folder(folder);
  const bool has_references = file.has_references();  // numbered file by file
  if (has_references || !write_object(target, record, compression_)) {
    const CapturedMessages messages;
    const TClass* type = TClass::GetClass(key.GetClassName());
    const bool is_known = type != nullptr && type->IsLoaded();  // ROOT dies of others
    if (!is_known && has_references && unknown_ == UnknownReferences::leave_out) {
      kept_[path] = {record.type, file.path(), std::move(record.bytes)};
      kept_[path].is_left_out = true;
      return;
    }
    void* object = is_known ? key.ReadObjectAny(type) : nullptr;
    if (object == nullptr || !messages.first_error().empty()) {
      throw InputError(file.path() + ": " + described(path, record.type) + " cannot be read: " +
                       (is_known ? messages.first() : "no library here knows its class") +
                       "; leave it out by naming the trees to merge (--trees; in a job "
                       "merge.carry = false)");
    }
    target.WriteObjectAny(object, type, key.GetName());
    const_cast<TClass*>(type)->Destructor(object);
  }
  output_.describe_classes_of(file);
  output_.check();
  kept_[path] = {record.type, file.path(), std::move(record.bytes)};
}

void ObjectMerger::finish() {
  for (auto& [path, merged] : merged_) {
    const CapturedMessages messages;
    output_.folder(merged.folder).WriteTObject(merged.sum.get(), merged.name.c_str());
    output_.check();
  }
}

std::vector<std::string> ObjectMerger::notes() const {
  std::vector<std::string> lines;
  for (const auto& [path, kept] : kept_) {
    if (kept.is_left_out) {
      lines.push_back(described(path, kept.type) +
                      " is left out: it may refer to other objects by numbers of its file, and no "
                      "library here knows its class");
      continue;
    }
    if (kept.n_files == 1) {
      continue;
    }
    const auto n = std::to_string(kept.n_files);
    lines.push_back(described(path, kept.type) +
                    (kept.n_others == 0
                         ? " cannot be merged: it is the same in " + n + " files, kept once"
                         : " cannot be merged: that of " + kept.first_file + " is kept, " +
                               std::to_string(kept.n_others) + " of " + n + " files differ"));
  }
  return lines;
}

}  // namespace forkrun::root_io
