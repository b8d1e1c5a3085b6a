#pragma once

#include <functional>
#include <string>
#include <vector>

#include <TClass.h>
#include <TDirectory.h>
#include <TKey.h>

namespace forkrun::root_io {

/// Whether a key is that of a folder. `type`: its class, null if ROOT does not know it.
[[nodiscard]] bool is_folder(const TClass* type);

/// The valid keys of a folder: for each name, the newest one of a folder, and the newest of all
/// others.
[[nodiscard]] std::vector<TKey*> newest_keys(TDirectory& folder);

/// The folder of a key, even if another object has its name. \throws InputError if it cannot be
/// read.
[[nodiscard]] TDirectory& open_folder(TKey& key);

/// The key of the object at a path, "folder/name" or, with a cycle, "folder/name;2"; null if there
/// is none.
[[nodiscard]] TKey* find_object(TDirectory& folder, const std::string& path);

/// Calls `visit(path, key, class)` for the newest object of each name in a folder and its
/// subfolders, without folders themselves. `class` is null if ROOT does not know it.
void for_each_object(
    TDirectory& folder,
    const std::function<void(const std::string& path, const TKey& key, const TClass* type)>& visit,
    const std::string& prefix = "");

}  // namespace forkrun::root_io
