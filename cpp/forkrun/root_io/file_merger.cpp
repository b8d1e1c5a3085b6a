#include <forkrun/root_io/file_merger.hpp>

#include <algorithm>
#include <cstring>
#include <memory>

#include <TClass.h>
#include <TFile.h>
#include <TH1.h>
#include <TKey.h>
#include <TList.h>
#include <TTree.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/root_io/input_file.hpp>
#include <forkrun/root_io/output_file.hpp>
#include <forkrun/root_io/tree_merger.hpp>

namespace forkrun::root_io {

namespace {

/// Joins whatever it is given, object by object, by path within the file.
class FileMerger {
 public:
  FileMerger(OutputFile& output, std::optional<Compression> recompress,
             std::function<bool(const std::string& path, bool is_tree)> wanted)
      : output_{output}, recompress_{recompress}, wanted_{std::move(wanted)} {}

  void add(InputFile& file) { add_directory(file, file.file(), ""); }

  std::map<std::string, std::int64_t> finish() {
    std::map<std::string, std::int64_t> entries;
    for (auto& [path, merger] : trees_) {
      entries[path] = merger.finish();
    }
    for (auto& [path, histogram] : histograms_) {
      output_.folder_of(path).WriteTObject(histogram.get(), name_of(path).c_str());
    }
    return entries;
  }

  [[nodiscard]] std::vector<std::string> names() const { return {names_.begin(), names_.end()}; }

 private:
  static std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

  template <typename T>
  static T* found(T* object, const std::string& path, const InputFile& file) {
    if (object == nullptr) {
      throw InputError(file.path() + ": object \"" + path + "\" cannot be read");
    }
    return object;
  }

  void add_directory(InputFile& file, TDirectory& directory, const std::string& prefix) {
    std::set<std::string> seen;
    for (TObject* object :
         *directory.GetListOfKeys()) {  // of one name, the newest cycle comes first
      auto& key = static_cast<TKey&>(*object);
      if (seen.insert(key.GetName()).second) {
        add_key(file, key, prefix + key.GetName());
      }
    }
  }

  void add_key(InputFile& file, TKey& key, const std::string& path) {
    const TClass* type = TClass::GetClass(key.GetClassName());
    if (type != nullptr && type->InheritsFrom(TDirectory::Class())) {
      auto& directory = static_cast<TDirectory&>(*found(key.ReadObj(), path, file));
      return add_directory(file, directory, path + "/");
    }
    const bool is_tree = type != nullptr && type->InheritsFrom(TTree::Class());
    if (!wanted_(path, is_tree)) {
      return;
    }
    if (std::strcmp(key.GetClassName(), "ROOT::RNTuple") == 0) {
      throw InputError(file.path() + ": \"" + path +
                       "\" is an RNTuple, which cannot be merged yet");
    }
    if (type == nullptr) {
      throw InputError(file.path() + ": object \"" + path + "\" is of unknown class " +
                       key.GetClassName() + "; leave it out by naming the trees to merge");
    }
    names_.insert(path);
    if (is_tree) {
      trees_.try_emplace(path, output_, path, recompress_).first->second.add(file.tree(path), file);
    } else if (type->InheritsFrom(TH1::Class())) {
      add_histogram(static_cast<TH1*>(found(key.ReadObj(), path, file)), path, file);
    } else if (others_.insert(path).second) {
      void* object = found(key.ReadObjectAny(type), path, file);
      output_.folder_of(path).WriteObjectAny(object, type, key.GetName());
      const_cast<TClass*>(type)->Destructor(object);
    }
  }

  void add_histogram(TH1* histogram, const std::string& path, const InputFile& file) {
    std::unique_ptr<TH1> owned{histogram};
    owned->SetDirectory(nullptr);
    auto& sum = histograms_[path];
    if (!sum) {
      sum = std::move(owned);
    } else if (!sum->Add(owned.get())) {
      throw InputError(file.path() + ": histogram \"" + path +
                       "\" has other axes than in the files before");
    }
  }

  OutputFile& output_;
  std::optional<Compression> recompress_;
  std::function<bool(const std::string&, bool)> wanted_;
  std::map<std::string, TreeMerger> trees_;
  std::map<std::string, std::unique_ptr<TH1>> histograms_;
  std::set<std::string> others_;
  std::set<std::string> names_;
};

Compression compression_of(const InputFile& file) {
  return {file.file().GetCompressionAlgorithm(), file.file().GetCompressionLevel()};
}

void check_all_found(const MergeRequest& request,
                     const std::map<std::string, std::int64_t>& entries) {
  for (const auto& tree : request.trees.value_or(std::vector<std::string>{})) {
    if (!entries.contains(tree)) {
      throw InputError("tree \"" + tree + "\" is in none of the input files");
    }
  }
}

}  // namespace

std::map<std::string, std::int64_t> merge_files(const MergeRequest& request) {
  if (request.inputs.empty()) {
    throw InputError("there is no file to merge");
  }
  auto first = std::make_unique<InputFile>(request.inputs.front());
  OutputFile output{request.output, request.compression.value_or(compression_of(*first))};
  try {
    FileMerger merger{output, request.compression, [&](const std::string& path, bool is_tree) {
                        return !request.trees ||
                               (is_tree && std::ranges::count(*request.trees, path) > 0);
                      }};
    std::vector<std::unique_ptr<InputFile>> files;
    for (std::size_t i = 0; i < request.inputs.size(); ++i) {
      auto file = i == 0 ? std::move(first) : std::make_unique<InputFile>(request.inputs[i]);
      merger.add(*file);
      if (i == 0) {
        files.push_back(std::move(file));  // the merged trees took their structure from it
      }
      if (request.progress) {
        request.progress(i + 1);
      }
    }
    auto entries = merger.finish();
    check_all_found(request, entries);
    output.close();
    return entries;
  } catch (...) {
    output.abandon();
    throw;
  }
}

std::vector<std::string> carry_objects(const std::vector<std::string>& inputs,
                                       const std::string& output_path,
                                       const std::set<std::string>& exclude) {
  if (inputs.empty()) {
    return {};
  }
  auto first = std::make_unique<InputFile>(inputs.front());
  OutputFile output{output_path, compression_of(*first), OutputMode::update};
  FileMerger merger{output, std::nullopt,
                    [&](const std::string& path, bool) { return !exclude.contains(path); }};
  merger.add(*first);
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    InputFile file{inputs[i]};
    merger.add(file);
  }
  merger.finish();
  output.close();
  return merger.names();
}

}  // namespace forkrun::root_io
