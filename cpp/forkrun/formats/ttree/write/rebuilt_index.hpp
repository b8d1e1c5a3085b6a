#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <forkrun/formats/ttree/write/branch_writer.hpp>

class TTree;

namespace forkrun::root_io {

/// The index of a written tree (TTree::BuildIndex), made anew for its entries where the first tree
/// of the input has one: those of the input tell other entries.
class RebuiltIndex {
 public:
  /// The first tree of the input.
  void begin(TTree& tree);
  [[nodiscard]] bool is_wanted() const { return !major_.empty(); }
  /// The tree that the entries which are added next are of.
  void open(TTree& tree);
  void add(EntryRun entries);
  /// Gives the written tree its index, or none, which is what it was made for.
  void finish(TTree& tree);
  /// What became of it, if that is not the index of all entries; "" if it is.
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
