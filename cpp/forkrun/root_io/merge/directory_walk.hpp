#pragma once

#include <functional>
#include <string>

#include <TClass.h>
#include <TDirectory.h>
#include <TKey.h>

namespace forkrun::root_io {

/// Calls `visit(path, key, class)` for every object in a folder and those within it, folders
/// themselves left out. `class` is null if ROOT does not know it.
void for_each_object(
    TDirectory& folder,
    const std::function<void(const std::string& path, const TKey& key, const TClass* type)>& visit,
    const std::string& prefix = "");

}  // namespace forkrun::root_io
