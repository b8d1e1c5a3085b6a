#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <forkrun/formats/ttree/write/branch_writer.hpp>

class TTree;

namespace forkrun::root_io {

/// The index of a written tree (TTree::BuildIndex), rebuilt for its entries if the first tree of
/// the input has one: indices of the input name other entries.
class RebuiltIndex {
 public:
  /// Notes the expressions of the first tree of the input.
  void begin(TTree& tree);
  [[nodiscard]] bool is_wanted() const { return !major_.empty(); }
  /// Opens the tree to which the entries that are added next belong.
  void open(TTree& tree);
  void add(EntryRun entries);
  /// Gives the written tree its index, or removes the one that it was cloned with.
  void finish(TTree& tree);
  /// Why the tree has no index of all entries; "" if it has one, or none was wanted.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  struct Values {
    std::vector<long long> major;
    std::vector<long long> minor;
  };

  std::string major_;  ///< expressions
  std::string minor_;
  Values of_input_;  ///< by entry of the tree that is open
  Values values_;    ///< by entry of the written tree
  std::string problem_;
};

/// Forgets the friends that are stored with a tree: they are not of its entries.
void drop_friends(TTree& tree);

}  // namespace forkrun::root_io
