#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <forkrun/formats/merge/origins.hpp>
#include <forkrun/formats/root_file/plain_file.hpp>
#include <forkrun/formats/ttree/merge/basket_check.hpp>
#include <forkrun/formats/ttree/merge/plain_tree_merger.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>

namespace forkrun::root_io {

/// Joins files that hold nothing but trees of numbers, without ROOT: what FileMerger does with all
/// other files, and what it makes of these.
class PlainMerger {
 public:
  using Wanted = std::function<bool(const std::string& tree)>;

  PlainMerger(PlainFile& output, const BasketTreatment& treatment, BasketCheck::Depth check,
              Wanted wanted, Origins origins, Ntuples ntuples = Ntuples::something_else);

  /// False if ROOT is needed for anything in it, were it only to say what is wrong: the output is
  /// then of no use. \throws InputError, OutputError
  bool add(TreeFile& file);
  /// Gives the entries by tree. \throws OutputError
  std::map<std::string, std::int64_t> finish();
  /// Compares the complete file with samples of the inputs. \throws WrittenOtherwise
  void check(const std::string& path) const {
    for (const auto& tree : trees_) {
      tree->check(path);
    }
  }
  /// Lines for people on baskets that were joined, and on rows that were left out.
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  [[nodiscard]] PlainTreeMerger& merger_of(const std::string& name);
  [[nodiscard]] bool add_tree(TreeFile& file, const std::string& name);

  PlainFile& output_;
  BasketTreatment treatment_;
  BasketCheck::Depth check_;
  Wanted wanted_;
  Origins origins_;
  Ntuples ntuples_;
  std::vector<std::unique_ptr<PlainTreeMerger>> trees_;  ///< in the order in which they came
};

}  // namespace forkrun::root_io
