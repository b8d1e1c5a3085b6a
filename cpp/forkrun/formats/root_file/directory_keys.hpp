#pragma once

#include <functional>
#include <string>
#include <vector>

#include <TClass.h>
#include <TDirectory.h>
#include <TKey.h>

namespace forkrun::root_io {

/// Whether a key is that of a folder. `type`: of its class, null if ROOT does not know it.
[[nodiscard]] bool is_folder(const TClass* type);

/// The keys of a folder that count: of one name, the newest one of a folder, and the newest of all
/// else.
[[nodiscard]] std::vector<TKey*> newest_keys(TDirectory& folder);

/// The folder of a key, whatever else has its name. \throws InputError if it cannot be read.
[[nodiscard]] TDirectory& open_folder(TKey& key);

/// The key of the object at a path, "folder/name" or, with a cycle, "folder/name;2"; null if there
/// is none.
[[nodiscard]] TKey* find_object(TDirectory& folder, const std::string& path);

/// Calls `visit(path, key, class)` for the newest object of each name in a folder and those within
/// it, folders themselves left out. `class` is null if ROOT does not know it.
void for_each_object(
    TDirectory& folder,
    const std::function<void(const std::string& path, const TKey& key, const TClass* type)>& visit,
    const std::string& prefix = "");

}  // namespace forkrun::root_io
