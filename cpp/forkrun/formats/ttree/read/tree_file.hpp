#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <forkrun/formats/root_file/input_file.hpp>
#include <forkrun/formats/ttree/layout/tree_record.hpp>

class TTree;

namespace forkrun::root_io {

class BasketsOfFile;
class InputTree;
class UnpackedRoom;

/// Treatment of RNTuples in a file of trees when it is read without ROOT.
enum class Ntuples { something_else, passed_over };

/// The trees of a ROOT file that is opened for reading. What the file says of plain ones is read
/// without ROOT.
class TreeFile : public InputFile {
 public:
  /// \throws InputError as InputFile
  explicit TreeFile(const std::string& path);
  friend bool is_plain_tree(const std::string& path, const std::string& tree);
  friend bool has_plain_trees_alone(const std::string& path);
  ~TreeFile();
  TreeFile(const TreeFile&) = delete;
  TreeFile& operator=(const TreeFile&) = delete;

  /// The tree in ROOT's memory. `name`: its path, of keys; with a cycle, "Events;2", an older one.
  /// \throws InputError naming the trees there are.
  [[nodiscard]] TTree& tree(const std::string& name) const;
  /// Lives as long as the file. Not in several threads at the same time. \throws InputError as
  /// `tree`.
  [[nodiscard]] const InputTree& input_tree(const std::string& name);
  /// Makes `input_tree` of a record that was read with its `tops`, which are taken from it.
  void keep_tree(const std::string& name, TreeRecord& record);
  /// A tree of numbers from its record; none if it has anything else, or ROOT has to read it.
  [[nodiscard]] std::optional<TreeMembers> plain_members(const std::string& tree) const;
  /// A tree from its record; none if ROOT has to read it.
  [[nodiscard]] std::optional<TreeRecord> record_of(const std::string& tree,
                                                    PartsOfTree wanted) const;
  /// The names of its trees in their order; none if it holds anything else, or ROOT has to read it.
  [[nodiscard]] std::optional<std::vector<std::string>> names_of_trees(
      Ntuples ntuples = Ntuples::something_else) const;
  /// Whether it has nothing under the name of a tree, which may have folders before it.
  [[nodiscard]] bool lacks(const std::string& tree) const;
  /// Where its baskets stay unpacked; null: nowhere.
  [[nodiscard]] UnpackedRoom* unpacked_room() const { return unpacked_room_.get(); }
  void keep_unpacked(std::shared_ptr<UnpackedRoom> room) { unpacked_room_ = std::move(room); }
  /// Baskets that other lanes may need as well; null: there are none.
  [[nodiscard]] BasketsOfFile* lane_baskets() const { return lane_baskets_.get(); }
  void share_baskets(std::shared_ptr<BasketsOfFile> baskets) { lane_baskets_ = std::move(baskets); }

 private:
  TreeFile(const std::string& path, WithoutRoot tag);
  [[nodiscard]] std::unique_ptr<InputTree> tree_without_root(const std::string& name) const;

  std::shared_ptr<UnpackedRoom> unpacked_room_;
  std::shared_ptr<BasketsOfFile> lane_baskets_;
  mutable std::map<std::string, TTree*> of_root_;  ///< by path; the file owns them
  std::map<std::string, std::unique_ptr<InputTree>> trees_;
};

/// Whether columns of this tree of a local file can be read without ROOT. False also if there is no
/// such tree.
[[nodiscard]] bool is_plain_tree(const std::string& path, const std::string& tree);

/// Whether outputs of a local file can be made without ROOT: it has nothing but trees of numbers.
/// \throws InputError if it cannot be opened.
[[nodiscard]] bool has_plain_trees_alone(const std::string& path);

}  // namespace forkrun::root_io
