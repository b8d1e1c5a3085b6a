#include <forkrun/formats/ttree/layout/branch_layout.hpp>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>

#include <ESTLType.h>
#include <TBranchElement.h>
#include <TClass.h>
#include <TClassEdit.h>
#include <TEnum.h>
#include <TROOT.h>
#include <TStreamerElement.h>
#include <TStreamerInfo.h>
#include <TVirtualCollectionProxy.h>

#include <forkrun/formats/ttree/layout/leaf_form.hpp>

namespace forkrun::root_io {

namespace {

using Info = TVirtualStreamerInfo;

/// Classes of ROOT's own with streaming of their own, which writes numbers and texts alone.
bool is_plain(std::string_view name) {
  constexpr std::array<std::string_view, 15> names{
      "TObject",        "TNamed",   "TString",  "string",  "std::string",
      "TLorentzVector", "TVector3", "TVector2", "TDatime", "TArrayC",
      "TArrayS",        "TArrayI",  "TArrayL",  "TArrayF", "TArrayD"};
  return std::ranges::find(names, name) != names.end();
}

/// Descriptions of classes are followed once each: they may contain themselves, in vectors.
class Search {
 public:
  bool is_movable(TClass* type) {
    if (type == nullptr || is_plain(type->GetName())) {
      return type != nullptr;
    }
    if (!seen_.insert(type).second) {
      return true;
    }
    if (TVirtualCollectionProxy* collection = type->GetCollectionProxy()) {
      TClass* values = collection->GetValueClass();
      const bool is_of_numbers = collection->GetCollectionType() == ROOT::kSTLbitset ||
                                 (values == nullptr && holds_numbers(*collection));
      return !collection->HasPointers() && (is_of_numbers || is_movable(values));
    }
    const bool has_own_streaming =
        type->IsLoaded() && (type->HasCustomStreamerMember() || type->GetStreamer() != nullptr);
    if (has_own_streaming || is_of_references(*type)) {
      return false;
    }
    const auto* infos = type->GetStreamerInfos();
    bool is_known = false;
    for (int i = infos->LowerBound(); i <= infos->GetLast(); ++i) {
      if (const auto* info = static_cast<const Info*>(infos->At(i))) {
        is_known = true;
        if (!are_movable(*info)) {
          return false;
        }
      }
    }
    return is_known;
  }

  bool are_movable(const Info& info) {
    for (TObject* element : *info.GetElements()) {
      if (!is_movable(static_cast<TStreamerElement&>(*element))) {
        return false;
      }
    }
    return true;
  }

  bool is_movable(const TStreamerElement& element) {
    switch (const int type = element.GetType(); type) {
      case Info::kTString:
      case Info::kTObject:
      case Info::kTNamed:
      case Info::kSTLstring:
      case Info::kOffsetL + Info::kTString:
      case Info::kOffsetL + Info::kTObject:
      case Info::kOffsetL + Info::kTNamed:
      case Info::kArtificial: return true;
      case Info::kBase:
      case Info::kObject:
      case Info::kAny:
      case Info::kSTL:
      case Info::kOffsetL + Info::kObject:
      case Info::kOffsetL + Info::kAny:
      case Info::kOffsetL + Info::kSTL: return is_movable(element.GetClassPointer());
      default: return type > Info::kBase && type < Info::kOffsetP + Info::kOffsetL;  // numbers
    }
  }

 private:
  static bool is_of_references(const TClass& type) {
    return type.InheritsFrom("TRef") || type.InheritsFrom("TCollection") ||
           type.InheritsFrom("TProcessID");
  }

  std::set<const TClass*> seen_;
};

/// Elements of classes whose meaning depends on the version of their file.
class OldForms {
 public:
  explicit OldForms(int version) : version_{version} {}

  bool has(TClass* type) {
    if (type == nullptr || !seen_.insert(type).second) {
      return false;
    }
    if (const auto* collection = type->GetCollectionProxy()) {
      return has(collection->GetValueClass());
    }
    const auto* infos = type->GetStreamerInfos();
    for (int i = infos->LowerBound(); i <= infos->GetLast(); ++i) {
      if (const auto* info = static_cast<const Info*>(infos->At(i))) {
        for (TObject* element : *info->GetElements()) {
          if (has(static_cast<TStreamerElement&>(*element))) {
            return true;
          }
        }
      }
    }
    return false;
  }

  bool has(const TStreamerElement& element) {
    constexpr int last_with_objects_alone = 51508, first_with_arrays = 30208;
    const auto type = element.GetType();
    const bool is_loop = type == Info::kStreamLoop || type == Info::kStreamLoop + Info::kOffsetL;
    const bool is_of_pointers = std::string_view{element.GetTypeName()}.ends_with("**");
    return (is_loop && is_of_pointers && version_ <= last_with_objects_alone) ||
           (type == Info::kObject + Info::kOffsetL && version_ < first_with_arrays) ||
           has(element.GetClassPointer());
  }

 private:
  int version_;
  std::set<const TClass*> seen_;
};

/// The element that the branch is; null if it is an object of a class of its own.
const TStreamerElement* element_of(TBranchElement& branch) {
  const auto* info = branch.GetID() < 0 ? nullptr : branch.GetInfo();
  const bool is_known = info != nullptr && branch.GetID() < info->GetElements()->GetEntriesFast();
  return is_known ? static_cast<TStreamerElement*>(info->GetElements()->At(branch.GetID()))
                  : nullptr;
}

}  // namespace

bool holds_numbers(const TVirtualCollectionProxy& collection) {
  std::string name{collection.GetCollectionClass()->GetName()};
  name =
      TClassEdit::ShortType(name.substr(0, name.rfind('>')).substr(name.find('<') + 1).c_str(), 0);
  return form_of_class("vector<" + name + ">").column.has_value() ||
         gROOT->GetType(name.c_str()) != nullptr || TEnum::GetEnum(name.c_str()) != nullptr;
}

bool has_movable_entries(TBranchElement& branch) {
  constexpr int clones = 3, collection = 4;
  if (branch.GetType() == clones || branch.GetType() == collection) {
    return true;  // the number of objects; their members have branches of their own
  }
  Search search;
  if (branch.GetID() < 0) {
    return search.is_movable(TClass::GetClass(branch.GetClassName()));
  }
  const auto* element = element_of(branch);
  return element != nullptr && search.is_movable(*element);
}

bool depends_on_file_version(TBranchElement& branch, int version) {
  OldForms forms{version};
  const auto* element = element_of(branch);
  return element != nullptr ? forms.has(*element)
                            : forms.has(TClass::GetClass(branch.GetClassName()));
}

}  // namespace forkrun::root_io
