#include <forkrun/formats/merge/joined_ntuples.hpp>

#include <algorithm>
#include <iterator>
#include <optional>
#include <thread>
#include <utility>

#include <TTree.h>

#include <forkrun/core/data/counted.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/index/ntuple_branches.hpp>
#include <forkrun/formats/index/tree_index.hpp>
#include <forkrun/formats/rntuple/output/ntuple_output.hpp>
#include <forkrun/formats/rntuple/output/written_check.hpp>
#include <forkrun/formats/ttree/read/input_tree.hpp>
#include <forkrun/fragments/cluster_cutter.hpp>

namespace forkrun::root_io {

namespace {

using rntuple::NtupleInput;
using rntuple::NtupleOutput;
using rntuple::NtupleTable;
using rntuple::OpenTable;

/// Names of its columns, as trees have them, where there are such.
std::vector<std::string> names_of_columns(const OpenTable& opened) {
  std::vector<std::string> names;
  if (const auto* ntuple = dynamic_cast<const NtupleTable*>(opened.table.get())) {
    std::ranges::transform(columns_once(*ntuple), std::back_inserter(names),
                           &rntuple::FieldColumn::name);
  } else {
    std::ranges::transform(branch_accounts(opened.file->path(), opened.table->name()),
                           std::back_inserter(names), &BranchAccount::name);
  }
  return names;
}

/// Damage in a page without a checksum would be copied unseen.
void require_checksums(const OpenTable& opened) {
  const auto& ntuple = dynamic_cast<const NtupleTable&>(*opened.table).ntuple();
  for (std::size_t cluster = 0; cluster < ntuple.clusters.size(); ++cluster) {
    const auto& columns = ntuple.clusters[cluster].columns;
    for (std::size_t column = 0; column < columns.size(); ++column) {
      const auto page =
          std::ranges::find(columns[column].pages, false, &rntuple::Page::has_checksum);
      if (page != columns[column].pages.end()) {
        throw InputError(
            opened.file->path() + ": RNTuple \"" + opened.table->name() + "\": field \"" +
            rntuple::path_of(ntuple.schema(), ntuple.schema().columns[column].field) + "\": page " +
            std::to_string(page - columns[column].pages.begin()) + " in cluster " +
            std::to_string(cluster) +
            " has no checksum, without which damage in it cannot be seen; forkrun convert takes "
            "such files, and writes checksums");
      }
    }
  }
}

}  // namespace

/// Makes one table.
class JoinedNtuples::Join {
 public:
  Join(const MergeRequest& request, const Joined& table, Compression compression)
      : request_{request}, table_{table} {
    source_.tree = asked_for(request, table.path).value();
    for (const auto& part : table.parts) {
      source_.files.push_back(request.inputs[part.file]);
    }
    source_.clusters.assign(source_.files.size(), {0});
    content_.tree = table.path;
    content_.compression = compression;
    content_.recompresses = request.compression.has_value();
    content_.reads_copied = request.check == BasketCheck::Depth::contents;
    content_.joins_pages = request.recluster != Recluster::always;
    content_.has_all_fields = std::ranges::all_of(table.parts, &Part::is_ntuple);
    content_.is_by_values = content_.has_flat_names = !content_.has_all_fields;
    if (const auto aligned = request.fields.find(table.path); aligned != request.fields.end()) {
      fields_ = &aligned->second;
      content_.has_all_fields = false;
    }
    find_first();
  }

  /// Gives its entries.
  std::int64_t write(PlainFile& file, Origins& origins, const std::function<void()>& progress) {
    NtupleOutput output{file, input_, content_, std::thread::hardware_concurrency()};
    MergeSink sink{output, [&](auto entries) { return values_of(entries); }};
    const auto input_of = [&](std::uint32_t number) -> InputClusters {
      return {input_.clusters(number), output.bytes_per_event(number)};
    };
    const bool is_fixed = request_.recluster == Recluster::never || output.has_variants();
    ClusterCutter cutter{is_fixed ? 0 : output.wanted_cluster_bytes(),
                         output.keeps_whole() && (is_fixed || content_.joins_pages), input_of,
                         sink};
    for (std::uint32_t number = 0; number < source_.files.size(); ++number) {
      add(number, cutter, origins, output);
      progress();
    }
    cutter.finish();
    output.finish();
    samples = output.samples();
    for (const auto& name : output.left_out()) {
      notes.push_back("\"" + table_.path + "\": \"" + name +
                      "\" is left out, for it has no column");
    }
    return output.n_entries();
  }

  std::vector<rntuple::WrittenPage> samples;
  std::vector<std::string> notes;

 private:
  /// The first with entries gives the fields.
  void find_first() {
    for (std::uint32_t number = 0; number < source_.files.size(); ++number) {
      const auto opened = input_.open(number);
      if (const auto n = opened->table->n_entries(); n > 0) {
        source_.clusters[number].push_back(n);
        break;
      }
    }
    if (fields_ == nullptr && !content_.is_by_values) {
      return;
    }
    const auto opened = input_.open(input_.first_with_events());
    if (fields_ == nullptr) {
      content_.branches = names_of_columns(*opened);
    } else {
      fields_->add_to(content_);
    }
    if (content_.is_by_values) {
      note_relations(*opened);
    } else {
      const auto& table = dynamic_cast<const NtupleTable&>(*opened->table);
      content_.has_flat_names = !rntuple::second_names(table.ntuple().schema()).empty();
    }
  }
  std::vector<NewValues> values_of(std::span<const EntryRange> entries) {
    if (fields_ == nullptr) {
      return {};
    }
    const auto opened = input_.open(entries.front().file);
    if (opened != opened_) {
      columns_.emplace(*fields_, *opened->table);
      opened_ = opened;
    }
    return naming_file(opened->file->path(), [&] {
      return columns_->read(entries, std::thread::hardware_concurrency());
    });
  }

  /// An RNTuple has no index, and no friends.
  void note_relations(const OpenTable& opened) {
    if (dynamic_cast<const NtupleTable*>(opened.table.get()) != nullptr) {
      return;
    }
    TTree& tree = opened.file->tree(opened.table->name());
    auto relations = stored_friends(tree);
    for (auto& name : relations) {
      name.insert(0, "the friend ");
    }
    if (tree.GetTreeIndex() != nullptr) {
      relations.emplace_back("the index of its entries");
    }
    for (const auto& relation : relations) {
      notes.push_back("\"" + table_.path + "\": " + relation +
                      ", which is stored with the tree of " + opened.file->path() +
                      ", is left out: RNTuples have none");
    }
  }

  void add(std::uint32_t number, ClusterCutter& cutter, Origins& origins, NtupleOutput& output) {
    const auto opened = input_.open(number);
    const auto n_entries = opened->table->n_entries();
    naming_file(opened->file->path(), [&] { origins.begin_file(*opened->file); });
    const auto taken = origins.take_rows(table_.path);
    origins.check_rows(table_.path, n_entries);
    if (n_entries > 0) {
      check(*opened);
    }
    std::int64_t n_taken = 0;
    const auto all = std::vector<RowRange>{{0, n_entries}};
    for (const auto& rows : taken.is_all() ? all : taken.rows) {
      if (rows.first < rows.last) {
        expect({number, rows.first, rows.last}, output);
        cutter.add({number, rows.first, rows.last});
        n_taken += rows.last - rows.first;
      }
    }
    origins.add_rows(table_.path, taken, n_entries, n_taken);
  }

  /// Cluster by cluster, as they are joined.
  void expect(const EntryRange& rows, NtupleOutput& output) {
    if (!input_.is_remote(rows.file)) {
      return;
    }
    std::vector<EntryRange> clusters;
    const auto begins = input_.clusters(rows.file);
    for (std::size_t i = 0; i + 1 < begins.size(); ++i) {
      const EntryRange cluster{rows.file, std::max(rows.first, begins[i]),
                               std::min(rows.last, begins[i + 1])};
      if (cluster.first < cluster.last) {
        clusters.push_back(cluster);
      }
    }
    output.expect(clusters);
  }
  void check(const OpenTable& opened) {
    if (!content_.is_by_values && request_.needs_checksums) {
      require_checksums(opened);
    }
    if (content_.is_by_values && fields_ == nullptr) {
      require_same(opened);
    }
    if (content_.is_by_values) {
      note_longer_branches(opened);
    }
    if (const auto* ntuple = dynamic_cast<const NtupleTable*>(opened.table.get());
        ntuple != nullptr && ntuple->ntuple().n_attribute_sets > 0) {
      notes.push_back(opened.file->path() + ": the attributes of \"" + table_.path +
                      "\" are left out");
    }
  }
  /// Nobody who reads the tree sees their last entries.
  void note_longer_branches(const OpenTable& opened) {
    if (dynamic_cast<const NtupleTable*>(opened.table.get()) != nullptr) {
      return;
    }
    for (const auto& branch : opened.file->input_tree(opened.table->name()).branches()) {
      if (const auto n = opened.table->n_entries(); !branch.is_split && branch.n_entries > n) {
        notes.push_back(opened.file->path() + ": \"" + table_.path + "\": branch \"" +
                        branch.layout.name + "\" has " +
                        counted(branch.n_entries, "entry", "entries") + ", the tree " +
                        std::to_string(n) + ": the others are left out");
      }
    }
  }
  void require_same(const OpenTable& opened) const {
    const auto fail = [&](const std::string& what, const std::string& name) {
      throw InputError(opened.file->path() + ": \"" + table_.path + "\" " + what + " \"" + name +
                       "\", unlike " + source_.files.front() +
                       "; --fields union fills what is missing, --fields common leaves it out");
    };
    for (const auto& name : names_of_columns(opened)) {
      if (std::ranges::count(content_.branches, name) == 0) {
        fail("has a branch", name);
      }
    }
    for (const auto& name : content_.branches) {
      if (!opened.table->has(name)) {
        fail("has no branch", name);
      }
    }
  }

  const MergeRequest& request_;
  const Joined& table_;
  TreeSourceConfig source_;
  OutputContent content_;
  NtupleInput input_{source_, {}};
  const AlignedFields* fields_{};  ///< null: all files must have the same
  std::shared_ptr<const OpenTable> opened_;
  std::optional<AlignedColumns> columns_;  ///< of `opened_`
};

namespace {

/// Without ROOT where that is possible.
bool is_filled_by_branch(const TreeFile& file, const std::string& path) {
  const auto record = file.record_of(path, {});
  return record ? record->is_filled_by_branch() : root_io::is_filled_by_branch(file.tree(path));
}

}  // namespace

JoinedNtuples::JoinedNtuples(const MergeRequest& request) : request_{request} {
  std::set<std::string> others;
  std::set<std::string> by_branch;
  for (std::size_t number = 0; number < request.inputs.size(); ++number) {
    const TreeFile file{request.inputs[number]};
    for (const auto& [path, is_ntuple] :
         naming_file(file.path(), [&] { return stored_tables(file); })) {
      const bool is_wanted = request.format ? *request.format == OutputFormat::ntuple : is_ntuple;
      const auto asked = asked_for(request, path);
      if (path == origin_record || !asked) {
        continue;
      }
      if (is_wanted && !is_ntuple && is_filled_by_branch(file, *asked)) {
        by_branch.insert(path);
      }
      if (!paths_.contains(path) && (!is_wanted || others.contains(path))) {
        if (is_ntuple && !request.format && others.contains(path)) {
          throw InputError(file.path() + ": \"" + path +
                           "\" is an RNTuple, and a tree in a file before; name the format that "
                           "both get: --format rntuple, or ttree");
        }
        others.insert(path);  // a tree
        continue;
      }
      if (paths_.insert(path).second) {
        tables_.push_back({path, {}});
      }
      std::ranges::find(tables_, path, &Joined::path)->parts.push_back({number, is_ntuple});
    }
  }
  for (const auto& path : by_branch) {
    std::erase_if(tables_, [&](const auto& table) { return table.path == path; });
    paths_.erase(path);
    notes_.push_back("\"" + path +
                     "\" stays a tree: it was filled branch by branch, which no RNTuple can be");
  }
}

std::size_t JoinedNtuples::n_steps() const {
  std::size_t n = 0;
  for (const auto& table : tables_) {
    n += table.parts.size();
  }
  return n;
}

void JoinedNtuples::write(PlainFile& file, Compression compression, Origins& origins,
                          const std::function<void(std::size_t)>& progress) {
  std::size_t n_done = 0;
  for (auto& table : tables_) {
    Join join{request_, table, compression};
    entries_[table.path] = join.write(file, origins, [&] { progress(++n_done); });
    table.samples = std::move(join.samples);
    std::ranges::move(join.notes, std::back_inserter(notes_));
  }
}

void JoinedNtuples::check(const std::string& path) const {
  for (const auto& table : tables_) {
    rntuple::check_written(path, table.path, entries_.at(table.path), table.samples,
                           std::thread::hardware_concurrency());
  }
}

}  // namespace forkrun::root_io
