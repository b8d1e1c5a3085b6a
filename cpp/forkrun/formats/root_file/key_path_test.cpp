#include <forkrun/formats/root_file/key_path.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace forkrun::root_io {

namespace {

using Numbers = std::vector<std::size_t>;

}  // namespace

TEST(KeyPath, TheNewestIsTheHighestCycleWhereverItStands) {
  EXPECT_EQ(newest_keys({{"Events", 2, false}, {"Events", 1, false}}), Numbers{0});
  EXPECT_EQ(newest_keys({{"Events", 1, false}, {"h", 1, false}, {"Events", 2, false}}),
            (Numbers{1, 2}));
}

TEST(KeyPath, WhereCyclesHaveWrappedTheFirstInTheListIsTheNewest) {
  EXPECT_EQ(newest_keys({{"Events", -32768, false}, {"Events", 32767, false}}), Numbers{0});
  EXPECT_EQ(newest_keys({{"Events", -32767, false}, {"Events", -32768, false}}), Numbers{0});
  EXPECT_EQ(newest_keys({{"Events", 0, false}, {"Events", -1, false}}), Numbers{0});
  EXPECT_EQ(newest_keys({{"Events", -1, false}, {"Events", 9, false}, {"Events", 1, false}}),
            Numbers{0});
}

TEST(KeyPath, AFolderAndAnObjectOfOneNameAreTwoThings) {
  const std::vector<ListedKey> keys{{"Events", 2, false}, {"Events", 1, true}};
  EXPECT_EQ(newest_keys(keys), (Numbers{0, 1}));
  EXPECT_EQ(newest_key(keys, "Events", true), 1U);
  EXPECT_EQ(asked_key(keys, "Events"), 0U);
  EXPECT_FALSE(asked_key(keys, "Events;1"));
}

TEST(KeyPath, AnObjectIsAskedForByItsNameFirstAndThenByItsCycle) {
  const std::vector<ListedKey> keys{
      {"Events", 2, false}, {"Events", 1, false}, {"c;3", 1, false}, {"c", 3, false}};
  EXPECT_EQ(asked_key(keys, "Events;1"), 1U);
  EXPECT_FALSE(asked_key(keys, "Events;3"));
  EXPECT_EQ(asked_key(keys, "c;3"), 2U);
  EXPECT_EQ(asked_key(keys, "c;3;1"), 2U);
  EXPECT_EQ(without_cycle("Events;1"), "Events");
  EXPECT_EQ(without_cycle("e;f"), "e;f");
  EXPECT_EQ(without_cycle("Events"), "Events");
}

namespace {

/// Folder "a" with "b" in it, beside an object "a/b".
struct ListedFolder {
  bool is_inner{};
  bool has_slash{};

  [[nodiscard]] std::vector<ListedKey> keys() const {
    std::vector<ListedKey> keys;
    if (is_inner) {
      keys.push_back({"b", 1, false});
      return keys;
    }
    keys.push_back({"a", 1, true});
    if (has_slash) {
      keys.push_back({"a/b", 1, false});
    }
    return keys;
  }
  [[nodiscard]] ListedFolder open(std::size_t /*number*/) const { return {true}; }
};

}  // namespace

TEST(KeyPath, ASlashIsInANameOrBetweenFolderAndName) {
  EXPECT_FALSE(find_by_path(ListedFolder{false, true}, "a/b")->first.is_inner);
  EXPECT_TRUE(find_by_path(ListedFolder{false, false}, "a/b")->first.is_inner);
  EXPECT_FALSE(find_by_path(ListedFolder{}, "a/c"));
  EXPECT_FALSE(find_by_path(ListedFolder{}, "a"));
}

}  // namespace forkrun::root_io
