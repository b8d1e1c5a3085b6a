#include <forkrun/root_io/merge/directory_walk.hpp>

#include <TList.h>

namespace forkrun::root_io {

void for_each_object(
    TDirectory& folder,
    const std::function<void(const std::string& path, const TKey& key, const TClass* type)>& visit,
    const std::string& prefix) {
  for (TObject* object : *folder.GetListOfKeys()) {
    const auto* key = static_cast<TKey*>(object);
    const auto path = prefix + key->GetName();
    const TClass* type = TClass::GetClass(key->GetClassName());
    if (type != nullptr && type->InheritsFrom(TDirectory::Class())) {
      for_each_object(*folder.GetDirectory(key->GetName()), visit, path + "/");
    } else {
      visit(path, *key, type);
    }
  }
}

}  // namespace forkrun::root_io
