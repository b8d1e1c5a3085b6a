#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <forkrun/formats/merge/if_they_differ.hpp>
#include <forkrun/formats/merge/object_merger.hpp>
#include <forkrun/formats/merge/origins.hpp>
#include <forkrun/formats/root_file/output_file.hpp>
#include <forkrun/formats/ttree/merge/basket_check.hpp>
#include <forkrun/formats/ttree/merge/reclustering.hpp>
#include <forkrun/formats/ttree/merge/tree_merger.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>

class TDirectory;
class TKey;

namespace forkrun::root_io {

/// Whether trees of a path are merged, and which cycle of it: "Events;2" where not the newest is.
using WantedTrees = std::function<std::optional<std::string>(const std::string& path)>;

struct MergeSettings {
  BasketTreatment treatment{};
  BasketCheck::Depth check = BasketCheck::Depth::headers;
  IfTheyDiffer if_they_differ = IfTheyDiffer::error;
  bool only_trees = false;
  UnknownReferences unknown = UnknownReferences::error;
};

/// Joins all objects of files but RNTuples, by path within the file: trees of numbers without ROOT,
/// all else with it. Paths are of keys: objects may have names of their own, and folders the names
/// of objects.
class Merger {
 public:
  /// `origins`: may follow rows of other tables as well.
  Merger(RecordFile& output, MergeSettings settings, WantedTrees wanted, Origins& origins);

  /// False if ROOT is needed for anything in it, were it only to say what is wrong, and the output
  /// is not written with it: then it is of no use. \throws InputError, OutputError
  [[nodiscard]] bool add(TreeFile& file);
  /// Gives the entries by tree. \throws OutputError
  std::map<std::string, std::int64_t> finish();
  /// Lines for people on baskets that were joined, on rows that were left out, and on objects that
  /// were not merged.
  [[nodiscard]] std::vector<std::string> notes() const;
  /// Compares the complete file with samples of the inputs. \throws VerificationFailed
  void check(const std::string& path) const;

 private:
  bool add_plain_trees(TreeFile& file);
  void add_directory(TreeFile& file, TDirectory& directory, const std::string& folder);
  void add_key(TreeFile& file, TKey& key, const std::string& folder);
  bool add_tree(TreeFile& file, const TKey* key, const TreePlace& place);
  void add_folder(TreeFile& file, TKey& key, const std::string& path);
  [[nodiscard]] TreeMerger& merger_of(const TreePlace& place);
  void check_kind(const TreeFile& file, const std::string& path, const std::string& folder,
                  const std::string& kind);

  struct Kind {
    std::string folder;
    std::string kind;
  };

  MergedFile output_;
  MergeSettings settings_;
  WantedTrees wanted_;
  Origins& origins_;
  std::vector<std::unique_ptr<TreeMerger>> trees_;  ///< in the order in which they came
  std::optional<ObjectMerger> objects_;             ///< with ROOT
  std::map<std::string, Kind> kinds_;               ///< by path, of objects
};

}  // namespace forkrun::root_io
