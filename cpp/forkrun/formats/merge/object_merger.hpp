#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <TObject.h>

#include <forkrun/formats/merge/if_they_differ.hpp>
#include <forkrun/formats/root_file/object_record.hpp>
#include <forkrun/formats/root_file/output_file.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>

class TClass;
class TKey;

namespace forkrun::root_io {

/// Joins all objects but trees, by path within the file. Those whose class has a merge function of
/// ROOT's (histograms, graphs, efficiencies, collections, …) are merged with it, file after file,
/// as `hadd` does. The others are kept once if they are equal in all files, as bytes.
class ObjectMerger {
 public:
  ObjectMerger(OutputFile& output, Compression compression, IfTheyDiffer if_they_differ,
               UnknownReferences unknown)
      : output_{output},
        compression_{compression},
        if_they_differ_{if_they_differ},
        unknown_{unknown} {}

  /// Whether such an object is merged; others are kept once.
  [[nodiscard]] static bool merges(const TKey& key);
  /// \throws InputError naming the file and the object if it does not fit to that of a file before
  /// with which it is to be merged, or if it is damaged.
  void add(TreeFile& file, TKey& key, const std::string& folder);
  /// \throws InputError naming the objects of this file that differ from those of files before and
  /// cannot be merged.
  void end_file(const TreeFile& file) const;
  /// Writes what was merged. \throws OutputError
  void finish();
  /// Lines for people on objects that were not merged: which, of what class, and whether they were
  /// equal.
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  struct Merged {
    std::string folder;
    std::string name;
    std::string first_file;
    std::unique_ptr<TObject> sum;
  };
  struct Kept {
    std::string type;
    std::string first_file;
    std::vector<std::byte> bytes;
    std::size_t n_files = 1;
    std::size_t n_others{};  ///< that differ from the first
    bool is_left_out{};
  };

  void merge(TreeFile& file, TKey& key, Merged& merged, const std::string& path);
  void compare(TreeFile& file, TKey& key, Kept& kept, const std::string& path);
  void keep(TreeFile& file, TKey& key, const std::string& folder, const std::string& path);

  OutputFile& output_;
  Compression compression_;
  IfTheyDiffer if_they_differ_;
  UnknownReferences unknown_;
  std::map<std::string, Merged> merged_;
  std::map<std::string, Kept> kept_;
  std::vector<std::string> differing_;  ///< lines on objects of this file
};

}  // namespace forkrun::root_io
