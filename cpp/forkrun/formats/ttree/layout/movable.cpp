#include <forkrun/formats/ttree/layout/movable.hpp>

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
  const auto* info = branch.GetInfo();
  if (info == nullptr || branch.GetID() >= info->GetElements()->GetEntriesFast()) {
    return false;
  }
  const auto* element = static_cast<TStreamerElement*>(info->GetElements()->At(branch.GetID()));
  return element != nullptr && search.is_movable(*element);
}

}  // namespace forkrun::root_io
