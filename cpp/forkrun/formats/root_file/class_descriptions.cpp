#include <forkrun/formats/root_file/class_descriptions.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <TArrayC.h>
#include <TClass.h>
#include <TFile.h>
#include <TObjArray.h>
#include <TObjString.h>
#include <TROOT.h>
#include <TSchemaRule.h>
#include <TSchemaRuleSet.h>
#include <TStreamerElement.h>
#include <TStreamerInfo.h>
#include <TVirtualMutex.h>

namespace forkrun::root_io {

namespace {

using Infos = std::vector<TStreamerInfo*>;

Infos tagged_infos(const TArrayC& tagged) {
  Infos infos;
  R__LOCKGUARD(gROOTMutex);
  for (TObject* object : *gROOT->GetListOfStreamerInfo()) {
    auto* info = static_cast<TStreamerInfo*>(object);
    if (info != nullptr && info->GetNumber() < tagged.fN && tagged.fArray[info->GetNumber()] != 0) {
      infos.push_back(info);
    }
  }
  return infos;
}

/// From the dictionary; null if it lacks the class, or this version.
TStreamerInfo* from_dictionary(const TStreamerInfo& info) {
  TClass* type = info.GetClass();
  if (type == nullptr || !type->IsLoaded() || type->GetClassVersion() != info.GetClassVersion()) {
    return nullptr;
  }
  auto* built = new TStreamerInfo{type};  // ROOT keeps a pointer to it
  built->Build();
  return built->GetCheckSum() == info.GetCheckSum() ? built : nullptr;
}

/// A copy without notes of the process's use of the class.
TStreamerInfo* plain_copy(const TStreamerInfo& info) {
  auto* copy = static_cast<TStreamerInfo*>(info.Clone());
  copy->ResetBit(TVirtualStreamerInfo::kCannotOptimize | TVirtualStreamerInfo::kRecovered |
                 TVirtualStreamerInfo::kNeedCheck | TVirtualStreamerInfo::kBuildOldUsed |
                 TVirtualStreamerInfo::kBuildRunning);
  copy->SetBit(TVirtualStreamerInfo::kIsCompiled);  // as ROOT has it
  for (TObject* element : *copy->GetElements()) {
    element->ResetBit(TStreamerElement::kWarned);
  }
  return copy;
}

/// Made once: it costs more than writing a small file.
TStreamerInfo* described(TStreamerInfo* info) {
  static std::mutex mutex;
  static auto& made = *new std::map<const TStreamerInfo*, TStreamerInfo*>;
  const std::lock_guard lock{mutex};
  auto& description = made[info];
  if (description == nullptr) {
    const auto* fresh = from_dictionary(*info);
    description = plain_copy(fresh != nullptr ? *fresh : *info);
  }
  return description;
}

/// ROOT may know a class twice: by its dictionary and from a file.
std::tuple<std::string_view, int, unsigned> identity_of(const TStreamerInfo* info) {
  return {info->GetName(), info->GetClassVersion(), info->GetCheckSum()};
}

std::vector<std::string> described_in(const TList& list) {
  std::vector<std::string> names;
  for (TObject* object : list) {
    if (const auto* info = dynamic_cast<const TStreamerInfo*>(object)) {
      names.push_back(std::string{info->GetName()} + ' ' + std::to_string(info->GetClassVersion()) +
                      ' ' + std::to_string(info->GetCheckSum()));
    } else if (const auto* rules = dynamic_cast<const TList*>(object)) {
      const auto more = described_in(*rules);
      names.insert(names.end(), more.begin(), more.end());
    } else {
      names.emplace_back(object->GetName());  // a rule
    }
  }
  return names;
}

std::set<std::string> rules_of(const Infos& infos) {
  std::set<std::string> rules;
  for (const auto* info : infos) {
    TClass* type = info->GetClass();
    if (type == nullptr || type->GetSchemaRules() == nullptr) {
      continue;
    }
    for (TObject* rule : *type->GetSchemaRules()->GetRules()) {
      TString text;
      static_cast<ROOT::TSchemaRule*>(rule)->AsString(text, "s");
      rules.emplace(text.Data());
    }
  }
  return rules;
}

std::unique_ptr<TList> list_of(const std::set<std::string>& rules) {
  auto list = std::make_unique<TList>();
  list->SetName("listOfRules");
  list->SetOwner();
  for (const auto& rule : rules) {
    list->Add(new TObjString{rule.c_str()});
  }
  return list;
}

}  // namespace

bool same_classes(const TList& one, const TList& other) {
  return described_in(one) == described_in(other);
}

ClassDescriptions describe_classes(const TArrayC& tagged) {
  const auto infos = tagged_infos(tagged);
  Infos descriptions(infos.size());
  std::ranges::transform(infos, descriptions.begin(), described);
  std::ranges::stable_sort(descriptions, {}, identity_of);
  const auto repeated = std::ranges::unique(descriptions, {}, identity_of);
  descriptions.erase(repeated.begin(), repeated.end());
  ClassDescriptions result{list_of(rules_of(infos)), std::make_unique<TList>()};
  for (auto* description : descriptions) {
    result.all->Add(description);
  }
  if (result.rules->GetSize() > 0) {
    result.all->Add(result.rules.get());
  }
  return result;
}

void take_descriptions(TFile& from, TFile& to) {
  const std::unique_ptr<TList> list{from.GetStreamerInfoList()};
  if (!list) {
    return;
  }
  list->SetOwner();
  for (TObject* object : *list) {
    const auto* info = dynamic_cast<TStreamerInfo*>(object);
    TClass* type = info == nullptr ? nullptr : TClass::GetClass(info->GetName());
    if (type == nullptr) {
      continue;
    }
    auto* known = type->FindStreamerInfo(info->GetCheckSum());
    if (known == nullptr || known->GetClassVersion() != info->GetClassVersion()) {
      known = type->GetStreamerInfo(info->GetClassVersion());
    }
    if (known != nullptr) {
      known->TagFile(&to);
    }
  }
}

}  // namespace forkrun::root_io
