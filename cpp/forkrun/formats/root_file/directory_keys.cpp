#include <forkrun/formats/root_file/directory_keys.hpp>

#include <TList.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/root_file/key_path.hpp>

namespace forkrun::root_io {

namespace {

TKey& key_at(TDirectory& folder, std::size_t number) {
  return static_cast<TKey&>(*folder.GetListOfKeys()->At(static_cast<int>(number)));
}

std::vector<ListedKey> listed_keys(TDirectory& folder) {
  std::vector<ListedKey> keys;
  for (TObject* object : *folder.GetListOfKeys()) {
    const auto& key = static_cast<TKey&>(*object);
    keys.push_back(
        {key.GetName(), key.GetCycle(), is_folder(TClass::GetClass(key.GetClassName()))});
  }
  return keys;
}

struct FolderOfRoot {
  TDirectory* folder;

  [[nodiscard]] std::vector<ListedKey> keys() const { return listed_keys(*folder); }
  [[nodiscard]] FolderOfRoot open(std::size_t number) const {
    return {&open_folder(key_at(*folder, number))};
  }
};

}  // namespace

bool is_folder(const TClass* type) {
  return type != nullptr && type->InheritsFrom(TDirectory::Class());
}

std::vector<TKey*> newest_keys(TDirectory& folder) {
  std::vector<TKey*> all;
  for (TObject* object : *folder.GetListOfKeys()) {
    all.push_back(static_cast<TKey*>(object));
  }
  std::vector<TKey*> newest;
  for (const auto number : newest_keys(listed_keys(folder))) {
    newest.push_back(all[number]);
  }
  return newest;
}

TDirectory& open_folder(TKey& key) {
  auto* folder = dynamic_cast<TDirectory*>(key.ReadObj());
  if (folder == nullptr) {
    throw InputError("folder \"" + std::string{key.GetName()} + "\" cannot be read");
  }
  return *folder;
}

TKey* find_object(TDirectory& folder, const std::string& path) {
  const auto found = find_by_path(FolderOfRoot{&folder}, path);
  return found ? &key_at(*found->first.folder, found->second) : nullptr;
}

void for_each_object(
    TDirectory& folder,
    const std::function<void(const std::string& path, const TKey& key, const TClass* type)>& visit,
    const std::string& prefix) {
  for (auto* key : newest_keys(folder)) {
    const auto path = prefix + key->GetName();
    const TClass* type = TClass::GetClass(key->GetClassName());
    if (is_folder(type)) {
      for_each_object(open_folder(*key), visit, path + "/");
    } else {
      visit(path, *key, type);
    }
  }
}

}  // namespace forkrun::root_io
