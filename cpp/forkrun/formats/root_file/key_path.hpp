#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace forkrun::root_io {

/// A directory's entry for one of its keys. The key's name counts, not the object's.
struct ListedKey {
  std::string name;
  int cycle{};
  bool is_folder{};
};

/// Number of the newest key of a name, of folders or of all others: both may have one name.
[[nodiscard]] std::optional<std::size_t> newest_key(const std::vector<ListedKey>& keys,
                                                    const std::string& name, bool is_folder);
/// Numbers of the newest keys of each name, in order.
[[nodiscard]] std::vector<std::size_t> newest_keys(const std::vector<ListedKey>& keys);
/// Number of the requested object: by its name, or by name and cycle, "Events;2".
[[nodiscard]] std::optional<std::size_t> asked_key(const std::vector<ListedKey>& keys,
                                                   const std::string& asked);
/// The name in "name;2", for an object requested by its cycle.
[[nodiscard]] std::string without_cycle(const std::string& asked);

/// The object at a path such as "folder/name" below a folder: its folder, and its number there.
/// Names of objects may contain a slash. `Folder` has `keys()`, and `open(number)`, which returns a
/// folder within it.
template <typename Folder>
std::optional<std::pair<Folder, std::size_t>> find_by_path(const Folder& folder,
                                                           const std::string& path) {
  const std::vector<ListedKey> keys = folder.keys();
  if (const auto found = asked_key(keys, path)) {
    return {{folder, *found}};
  }
  for (auto end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1)) {
    if (const auto inner = newest_key(keys, path.substr(0, end), true)) {
      if (auto found = find_by_path(folder.open(*inner), path.substr(end + 1))) {
        return found;
      }
    }
  }
  return {};
}

}  // namespace forkrun::root_io
