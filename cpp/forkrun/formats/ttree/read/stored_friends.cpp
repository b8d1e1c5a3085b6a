#include <forkrun/formats/ttree/read/stored_friends.hpp>

#include <TFriendElement.h>
#include <TList.h>
#include <TTree.h>

namespace forkrun::root_io {

std::vector<std::string> stored_friends(TTree& tree) {
  std::vector<std::string> names;
  if (const auto* friends = tree.GetListOfFriends()) {
    for (TObject* object : *friends) {
      const auto& element = static_cast<TFriendElement&>(*object);
      const std::string file = element.GetTitle();
      names.push_back(std::string{element.GetTreeName()} + " (" +
                      (file.empty() ? "in the same file" : file) + ")");
    }
  }
  return names;
}

}  // namespace forkrun::root_io
