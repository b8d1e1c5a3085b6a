#include <forkrun/formats/merge/plain_merger.hpp>

#include <algorithm>
#include <utility>

namespace forkrun::root_io {

PlainMerger::PlainMerger(PlainFile& output, const BasketTreatment& treatment,
                         BasketCheck::Depth check, Wanted wanted, Origins origins, Ntuples ntuples)
    : output_{output},
      treatment_{treatment},
      check_{check},
      wanted_{std::move(wanted)},
      origins_{std::move(origins)},
      ntuples_{ntuples} {}

bool PlainMerger::add(TreeFile& file) {
  file.check_keys();
  const auto trees = file.names_of_trees(ntuples_);
  if (!trees) {
    return false;
  }
  return naming_file(file.path(), [&] {
    origins_.begin_file(file);
    for (const auto& name : *trees) {
      if (name != origin_record && wanted_(name) && !add_tree(file, name)) {
        return false;
      }
    }
    return true;
  });
}

PlainTreeMerger& PlainMerger::merger_of(const std::string& name) {
  const auto known = std::ranges::find(trees_, name, [](const auto& tree) { return tree->path(); });
  return known != trees_.end() ? **known
                               : *trees_.emplace_back(std::make_unique<PlainTreeMerger>(
                                     output_, name, treatment_, check_));
}

bool PlainMerger::add_tree(TreeFile& file, const std::string& name) {
  const auto taken = origins_.take_rows(name);
  auto& merger = merger_of(name);
  const auto before = merger.n_entries();
  const auto n_rows = taken.is_all() ? merger.add(file) : merger.add_rows(file, taken.rows);
  if (!n_rows) {
    return false;
  }
  origins_.check_rows(name, *n_rows);
  origins_.add_rows(name, taken, *n_rows, merger.n_entries() - before);
  return true;
}

std::vector<std::string> PlainMerger::notes() const {
  std::vector<std::string> notes;
  for (const auto& tree : trees_) {
    add_note(notes, tree->path(), tree->reclustering());
  }
  const auto of_rows = origins_.notes();
  notes.insert(notes.end(), of_rows.begin(), of_rows.end());
  return notes;
}

std::map<std::string, std::int64_t> PlainMerger::finish() {
  std::map<std::string, std::int64_t> entries;
  for (const auto& tree : trees_) {
    entries[tree->path()] = tree->finish();
  }
  if (const auto origins = origins_.of_output(); !origins.empty()) {
    write_origins(output_, origins, treatment_.compression);
  }
  return entries;
}

}  // namespace forkrun::root_io
