#include <forkrun/formats/ttree/merge/carry_objects.hpp>

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <TFile.h>
#include <TObjString.h>

#include <forkrun/formats/root_file/output_file.hpp>
#include <forkrun/formats/ttree/merge/common_branches.hpp>
#include <forkrun/formats/ttree/merge/plain_merger.hpp>
#include <forkrun/formats/ttree/merge/root_merger.hpp>
#include <forkrun/formats/ttree/origins/origins.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>

namespace forkrun::root_io {

namespace {

/// What the inputs of a job have beside its events.
struct Carried {
  const std::vector<std::string>& inputs;
  const std::set<std::string>& exclude;
  const std::vector<FileIdentity>& identities;

  [[nodiscard]] bool wants(const std::string& path) const { return !exclude.contains(path); }

  template <typename Merger>
  void add_to(Merger& merger, TreeFile& file, std::size_t number) const {
    if (!identities.empty()) {
      file.check_identity(identities.at(number));
    }
    merger.add(file);
  }
};

/// What there is to carry without ROOT; none if it is needed.
std::optional<std::set<std::string>> plain_trees(const Carried& carried) {
  std::map<std::string, std::string> structures;
  for (const auto& path : carried.inputs) {
    TreeFile file{path};
    file.check_keys();
    const auto trees = file.names_of_trees();
    if (!trees) {
      return {};
    }
    for (const auto& name : *trees) {
      if (name == origin_record || !carried.wants(name)) {
        continue;
      }
      const auto record = file.record_of(name, {.members = true});
      if (!record || !record->members ||
          structures.try_emplace(name, record->structure).first->second != record->structure) {
        return {};
      }
    }
  }
  std::set<std::string> names;
  for (const auto& [name, structure] : structures) {
    names.insert(name);
  }
  return names;
}

/// False if ROOT is needed: the output is as it was then.
bool carry_without_root(const Carried& carried, const std::string& output_path) {
  const auto output = reopen_with_trees(output_path);
  if (!output) {
    return false;
  }
  TreeFile first{carried.inputs.front()};
  PlainMerger merger{*output,
                     {first.compression()},
                     BasketCheck::Depth::headers,
                     [&](const std::string& tree) { return carried.wants(tree); },
                     Origins{true}};
  for (std::size_t i = 0; i < carried.inputs.size(); ++i) {
    TreeFile file{carried.inputs[i]};
    carried.add_to(merger, file, i);
  }
  merger.finish();
  output->close();
  merger.check(output_path);
  return true;
}

std::vector<std::string> carry_with_root(
    const Carried& carried, const std::string& output_path, OutputMode mode,
    IfTheyDiffer if_they_differ, std::map<std::string, std::vector<std::string>> only_branches) {
  auto first = std::make_unique<TreeFile>(carried.inputs.front());
  const auto compression = first->compression();
  OutputFile output{output_path, compression, mode};
  const auto wanted = [&](const std::string& path) {
    return carried.wants(path) ? std::optional{path} : std::nullopt;
  };
  RootMerger merger{
      output,
      {{compression}, BasketCheck::Depth::headers, if_they_differ, std::move(only_branches)},
      wanted,
      Origins{true}};
  carried.add_to(merger, *first, 0);
  for (std::size_t i = 1; i < carried.inputs.size(); ++i) {
    TreeFile file{carried.inputs[i]};
    carried.add_to(merger, file, i);
  }
  merger.finish();
  output.close();
  merger.check(output_path);
  return merger.names();
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
  const Carried carried{inputs, exclude, identities};
  if (branches == BranchesThatDiffer::leave_out) {
    return carry_with_root(carried, output_path, OutputMode::update, if_they_differ,
                           common_branches(inputs, exclude));
  }
  const auto trees = plain_trees(carried);
  if (trees && (trees->empty() || carry_without_root(carried, output_path))) {
    return {trees->begin(), trees->end()};
  }
  return carry_with_root(carried, output_path, OutputMode::update, if_they_differ, {});
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
  const bool are_common = branches == BranchesThatDiffer::leave_out;
  carry_with_root({inputs, exclude, any}, scratch, OutputMode::create, if_they_differ,
                  are_common ? common_branches(inputs, exclude)
                             : std::map<std::string, std::vector<std::string>>{});
}

}  // namespace forkrun::root_io
