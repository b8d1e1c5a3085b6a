#include <forkrun/formats/merge/carry_objects.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <TFile.h>
#include <TObjString.h>

#include <forkrun/formats/merge/merger.hpp>
#include <forkrun/formats/merge/ntuples_as_trees.hpp>
#include <forkrun/formats/merge/origins.hpp>
#include <forkrun/formats/root_file/output_file.hpp>
#include <forkrun/formats/ttree/merge/merged_structure.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>
#include <forkrun/formats/ttree/write/plain_tree.hpp>

namespace forkrun::root_io {

namespace {

/// Objects that the inputs of a job have besides its events. RNTuples are carried as trees, which
/// are in temporary files next to the output.
class Carried {
 public:
  Carried(const std::vector<std::string>& paths, const std::set<std::string>& excluded,
          const std::vector<FileIdentity>& as_indexed, const std::string& output)
      : inputs{paths}, exclude{excluded}, identities_{as_indexed}, output_{output} {}

  const std::vector<std::string>& inputs;
  const std::set<std::string>& exclude;

  [[nodiscard]] bool wants(const std::string& path) const { return !exclude.contains(path); }

  /// Trees made of the RNTuples of an input, by its number.
  [[nodiscard]] const NtuplesAsTrees& ntuples_of(TreeFile& file, std::size_t number) const {
    auto& ntuples = ntuples_[number];
    if (!ntuples) {
      ntuples = std::make_unique<NtuplesAsTrees>(
          file, [&](const auto& name) { return wants(name); }, path_of_trees(output_, number),
          NtuplesAsTrees::OriginsOf::all_rows);
    }
    return *ntuples;
  }

  void add_to(Merger& merger, TreeFile& file, std::size_t number) const {
    if (!identities_.empty()) {
      file.check_identity(identities_.at(number));
    }
    add(merger, file);
    if (const auto& ntuples = ntuples_of(file, number); !ntuples.names().empty()) {
      TreeFile trees{ntuples.path()};
      add(merger, trees);
    }
  }

 private:
  static void add(Merger& merger, TreeFile& file) {
    if (!merger.add(file)) {
      throw InputError(file.path() + " was changed while it was merged");
    }
  }

  const std::vector<FileIdentity>& identities_;
  std::string output_;
  mutable std::map<std::size_t, std::unique_ptr<NtuplesAsTrees>> ntuples_;
};

/// The inputs, and those of their trees that were RNTuples.
std::map<std::string, std::vector<std::string>> common_branches_of(const Carried& carried) {
  auto paths = carried.inputs;
  for (std::size_t i = 0; i < carried.inputs.size(); ++i) {
    TreeFile file{carried.inputs[i]};
    if (const auto& ntuples = carried.ntuples_of(file, i); !ntuples.names().empty()) {
      paths.push_back(ntuples.path());
    }
  }
  return common_branches(paths, carried.exclude);
}

/// Notes the structures of the trees of a file; false if ROOT is needed to join them.
bool add_structures(const Carried& carried, const TreeFile& file,
                    std::map<std::string, std::string>& structures) {
  const auto trees = file.names_of_trees(Ntuples::passed_over);
  return trees && std::ranges::all_of(*trees, [&](const auto& name) {
           if (name == origin_record || !carried.wants(name)) {
             return true;
           }
           const auto record = file.record_of(name, {.members = true});
           return record && record->members && !record->is_filled_by_branch() &&
                  structures.try_emplace(name, record->structure).first->second ==
                      record->structure;
         });
}

/// Objects to carry without ROOT; none if it is needed.
std::optional<std::set<std::string>> plain_trees(const Carried& carried) {
  std::map<std::string, std::string> structures;
  for (std::size_t i = 0; i < carried.inputs.size(); ++i) {
    TreeFile file{carried.inputs[i]};
    file.check_keys();
    if (!add_structures(carried, file, structures)) {
      return {};
    }
    if (const auto& ntuples = carried.ntuples_of(file, i);
        !ntuples.names().empty() &&
        !add_structures(carried, TreeFile{ntuples.path()}, structures)) {
      return {};
    }
  }
  std::set<std::string> names;
  for (const auto& [name, structure] : structures) {
    names.insert(name);
  }
  return names;
}

/// Adds to a file that is written without ROOT, or with it. Gives the names of what ROOT carried.
std::vector<std::string> carry_to(RecordFile& output, const Carried& carried,
                                  const std::string& output_path, TreeFile& first,
                                  MergeSettings settings = {}) {
  settings.treatment.compression = first.compression();
  const auto wanted = [&](const std::string& path) {
    return carried.wants(path) ? std::optional{path} : std::nullopt;
  };
  Merger merger{output, std::move(settings), wanted, Origins{true}};
  carried.add_to(merger, first, 0);
  for (std::size_t i = 1; i < carried.inputs.size(); ++i) {
    TreeFile file{carried.inputs[i]};
    carried.add_to(merger, file, i);
  }
  merger.finish();
  output.close();
  merger.check(output_path);
  return merger.names();
}

std::vector<std::string> carry_with_root(const Carried& carried, const std::string& output_path,
                                         OutputMode mode, IfTheyDiffer if_they_differ,
                                         BranchesThatDiffer branches) {
  MergeSettings settings{.if_they_differ = if_they_differ};
  if (branches == BranchesThatDiffer::leave_out) {
    settings.only_branches = common_branches_of(carried);
  }
  TreeFile first{carried.inputs.front()};
  OutputFile output{output_path, first.compression(), mode};
  return carry_to(output, carried, output_path, first, std::move(settings));
}

}  // namespace

std::vector<std::string> carry_objects(const std::vector<std::string>& inputs,
                                       const std::string& output_path,
                                       const std::set<std::string>& exclude,
                                       IfTheyDiffer if_they_differ, BranchesThatDiffer branches,
                                       const std::vector<FileIdentity>& identities) {
  if (inputs.empty()) {
    return {};
  }
  const Carried carried{inputs, exclude, identities, output_path};
  return naming_inputs(inputs, output_path, [&]() -> std::vector<std::string> {
    const auto trees =
        branches == BranchesThatDiffer::leave_out ? std::nullopt : plain_trees(carried);
    const auto plain = trees && !trees->empty() ? reopen_with_trees(output_path) : nullptr;
    if (plain) {
      TreeFile first{inputs.front()};
      carry_to(*plain, carried, output_path, first);
    }
    if (plain || (trees && trees->empty())) {
      return {trees->begin(), trees->end()};
    }
    return carry_with_root(carried, output_path, OutputMode::update, if_they_differ, branches);
  });
}

void add_text(const std::string& output, const std::string& name, const std::string& text) {
  if (const auto plain = reopen_with_trees(output)) {
    plain->add(name, "TObjString", "Collectable string class", [&](ObjectWriter& to) {
      to.object(1, [&] {
        to.base();
        to.text(text);
      });
    });
    plain->close();
    return;
  }
  OutputFile file{output, TreeFile{output}.compression(), OutputMode::update};
  file.file().cd();
  const TObjString object{text.c_str()};
  object.Write(name.c_str());
  file.close();
}

void check_carried(const std::vector<std::string>& inputs, const std::string& scratch,
                   const std::set<std::string>& exclude, IfTheyDiffer if_they_differ,
                   BranchesThatDiffer branches) {
  const std::vector<FileIdentity> any;
  const Carried carried{inputs, exclude, any, scratch};
  naming_inputs(inputs, scratch, [&] {
    return carry_with_root(carried, scratch, OutputMode::create, if_they_differ, branches);
  });
}

}  // namespace forkrun::root_io
