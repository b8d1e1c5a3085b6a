#include <forkrun/formats/merge/joined_tables.hpp>

#include <algorithm>
#include <iterator>
#include <optional>
#include <thread>
#include <utility>

#include <forkrun/core/data/counted.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/index/tree_index.hpp>
#include <forkrun/formats/merge/input_table.hpp>
#include <forkrun/formats/rntuple/output/ntuple_output.hpp>
#include <forkrun/formats/rntuple/output/written_check.hpp>
#include <forkrun/formats/ttree/output/output_tree.hpp>
#include <forkrun/formats/ttree/output/tree_writer.hpp>
#include <forkrun/formats/ttree/read/input_tree.hpp>
#include <forkrun/fragments/cluster_cutter.hpp>

namespace forkrun::root_io {

namespace {

using rntuple::NtupleInput;
using rntuple::NtupleOutput;
using rntuple::NtupleTable;
using rntuple::OpenTable;

}  // namespace

/// Makes one table.
class JoinedTables::Join {
 public:
  Join(const MergeRequest& request, Joined& table, Compression compression)
      : request_{request}, table_{table}, content_{table.content} {
    source_.tree = asked_for(request, table.path).value();
    for (const auto& part : table.parts) {
      source_.files.push_back(request.inputs[part.file]);
      if (!request.identities.empty()) {
        source_.identities.push_back(request.identities[part.file]);
      }
    }
    source_.clusters.assign(source_.files.size(), {0});
    const bool has_ntuples_alone = std::ranges::all_of(table.parts, &Part::is_ntuple);
    const bool has_trees_alone = std::ranges::none_of(table.parts, &Part::is_ntuple);
    content_ = {.compression = compression,
                .recompresses = request.compression.has_value(),
                .tree = table.path,
                .title = table.path,
                .has_flat_names = !has_ntuples_alone,
                .has_all_fields = has_ntuples_alone,
                .is_by_values = is_tree() ? !has_trees_alone : !has_ntuples_alone,
                .joins_pages = request.recluster != Recluster::always,
                .reads_copied = request.check == BasketCheck::Depth::contents};
    if (const auto aligned = request.fields.find(table.path); aligned != request.fields.end()) {
      fields_ = &aligned->second;
      content_.has_all_fields = false;
    }
    find_first();
    if (is_tree()) {
      take_branches();
    }
  }

  [[nodiscard]] bool needs_root() { return OutputTarget::needs_root(kept(), content_); }

  /// Gives its entries.
  std::int64_t write(RecordFile& file, Origins& origins, const std::function<void()>& progress) {
    const auto n_threads = std::thread::hardware_concurrency();
    std::shared_ptr<OutputTable> output;
    NtupleOutput* ntuple = nullptr;
    if (is_tree()) {
      output = std::make_shared<OutputTree>(file, request_.output, kept(), content_, n_threads);
    } else {
      auto made = std::make_shared<NtupleOutput>(dynamic_cast<PlainFile&>(file), input_, content_,
                                                 n_threads);
      ntuple = made.get();
      output = std::move(made);
    }
    MergeSink sink{*output, [&](auto entries) { return values_of(entries); }};
    const auto input_of = [&](std::uint32_t number) -> InputClusters {
      return {input_.clusters(number), is_tree() && content_.is_by_values
                                           ? columns_of(number).bytes_per_event()
                                           : output->bytes_per_event(number)};
    };
    const bool is_fixed =
        request_.recluster == Recluster::never || (ntuple != nullptr && ntuple->has_variants());
    ClusterCutter cutter{is_fixed ? 0 : output->wanted_cluster_bytes(),
                         output->keeps_whole() && (is_fixed || content_.joins_pages), input_of,
                         sink};
    for (std::uint32_t number = 0; number < source_.files.size(); ++number) {
      add(number, cutter, origins, *output);
      progress();
    }
    cutter.finish();
    output->finish();
    if (ntuple == nullptr) {
      table_.check = [output] { output->check(); };
      return n_entries_;
    }
    table_.check = [n = n_entries_, samples = ntuple->samples(), &path = request_.output,
                    &table = table_.path,
                    n_threads] { rntuple::check_written(path, table, n, samples, n_threads); };
    for (const auto& name : ntuple->left_out()) {
      notes.push_back("\"" + table_.path + "\": \"" + name +
                      "\" is left out, for it has no column");
    }
    return n_entries_;
  }

  std::vector<std::string> notes;

 private:
  [[nodiscard]] bool is_tree() const { return table_.format == OutputFormat::tree; }
  /// Null if all is written by its values.
  [[nodiscard]] KeptInput* kept() { return content_.is_by_values ? nullptr : &kept_; }

  /// The first with entries gives the fields.
  void find_first() {
    for (std::uint32_t number = 0; number < source_.files.size(); ++number) {
      const auto opened = input_.open(number);
      if (const auto n = opened->table->n_entries(); n > 0) {
        note_clusters(number, *opened);
        break;
      }
    }
    if (is_tree()) {
      return;
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
  /// Branches of a tree: all are written by their values if they are fields of an RNTuple in some
  /// file.
  void take_branches() {
    if (content_.is_by_values) {
      const auto opened = input_.open(input_.first_with_events());
      naming_file(opened->file->path(), [&] {
        if (fields_ != nullptr) {
          for (const auto& name : fields_->kept) {
            const auto reader = opened->table->reader(name);
            own_fields_.written.push_back({name, reader->type().value(), reader->counter()});
          }
          std::ranges::copy(fields_->written, std::back_inserter(own_fields_.written));
          own_fields_.written = with_counters(std::move(own_fields_.written));
        } else {
          own_fields_.written = branches_of(*opened);
        }
      });
      is_strict_ = fields_ == nullptr;
      fields_ = &own_fields_;
    }
    fields_->add_to(content_);
  }
  /// Baskets of trees are kept, or joined, by cluster.
  void note_clusters(std::uint32_t number, const OpenTable& opened) {
    const auto n = opened.table->n_entries();
    source_.clusters[number] =
        kept() == nullptr || !is_tree()
            ? std::vector<std::int64_t>{0, n}
            : clusters_of(opened.file->input_tree(source_.tree).branches(), n);
  }
  AlignedColumns& columns_of(std::uint32_t file) {
    const auto opened = input_.open(file);
    if (opened != opened_) {
      columns_.emplace(*fields_, *opened->table);
      opened_ = opened;
    }
    return *columns_;
  }
  std::vector<NewValues> values_of(std::span<const EntryRange> entries) {
    if (fields_ == nullptr) {
      return {};
    }
    auto& columns = columns_of(entries.front().file);
    return naming_file(opened_->file->path(),
                       [&] { return columns.read(entries, std::thread::hardware_concurrency()); });
  }

  /// An RNTuple has no index, and no friends.
  void note_relations(const OpenTable& opened) {
    if (dynamic_cast<const NtupleTable*>(opened.table.get()) != nullptr) {
      return;
    }
    for (const auto& relation : relations_of(opened)) {
      notes.push_back("\"" + table_.path + "\": " + relation +
                      ", which is stored with the tree of " + opened.file->path() +
                      ", is left out: RNTuples have none");
    }
  }

  void add(std::uint32_t number, ClusterCutter& cutter, Origins& origins, OutputTable& output) {
    const auto opened = input_.open(number);
    const auto n_entries = opened->table->n_entries();
    naming_file(opened->file->path(), [&] { origins.begin_file(*opened->file); });
    const auto taken = origins.take_rows(table_.path);
    origins.check_rows(table_.path, n_entries);
    if (n_entries > 0) {
      note_clusters(number, *opened);
      naming_file(opened->file->path(), [&] { check(*opened); });
    } else if (!table_.parts[number].is_ntuple &&
               is_filled_by_branch(*opened->file, source_.tree)) {
      throw InputError(opened->file->path() + ": \"" + table_.path +
                       "\" was filled branch by branch; merge such files apart");
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
    n_entries_ += n_taken;
    origins.add_rows(table_.path, taken, n_entries, n_taken);
  }

  /// Cluster by cluster, as they are joined.
  void expect(const EntryRange& rows, OutputTable& output) {
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
    if (is_tree()) {
      if (is_strict_) {
        require_same(opened);
      }
      return;
    }
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
      throw InputError(opened.file->path() + (is_tree() ? ": tree \"" : ": \"") + table_.path +
                       "\" " + what + " \"" + name + "\", unlike " + source_.files.front() +
                       "; --fields union fills what is missing, --fields common leaves it out" +
                       (is_tree() ? "; in a job merge.carry = false" : ""));
    };
    const auto first = is_tree() ? described(own_fields_.written) : content_.branches;
    const auto own = is_tree() ? described(branches_of(opened)) : names_of_columns(opened);
    for (const auto& name : own) {
      if (std::ranges::count(first, name) == 0) {
        fail("has a branch", name);
      }
    }
    for (const auto& name : first) {
      if (is_tree() ? std::ranges::count(own, name) == 0 : !opened.table->has(name)) {
        fail("has no branch", name);
      }
    }
  }

  const MergeRequest& request_;
  Joined& table_;
  TreeSourceConfig source_;
  OutputContent& content_;
  NtupleInput input_{source_, {}};
  SharedInput baskets_{source_, request_.check, {}};
  KeptInput kept_{baskets_};
  AlignedFields own_fields_;
  const AlignedFields* fields_{};  ///< null: all files must have the same
  bool is_strict_{};               ///< they must have `own_fields_`
  std::int64_t n_entries_{};
  std::shared_ptr<const OpenTable> opened_;
  std::optional<AlignedColumns> columns_;  ///< of `opened_`
};

JoinedTables::JoinedTables(const MergeRequest& request) : request_{request} {
  std::set<std::string> by_branch;
  for (std::size_t number = 0; number < request.inputs.size(); ++number) {
    const TreeFile file{request.inputs[number]};
    for (const auto& [path, is_ntuple] :
         naming_file(file.path(), [&] { return stored_tables(file); })) {
      const auto asked = asked_for(request, path);
      if (path == origin_record || !asked) {
        continue;
      }
      auto table = std::ranges::find(tables_, path, &Joined::path);
      if (table == tables_.end()) {
        const auto format = is_ntuple ? OutputFormat::ntuple : OutputFormat::tree;
        table = tables_.insert(table, {path, request.format.value_or(format)});
      }
      if (is_ntuple && !request.format && table->format == OutputFormat::tree) {
        throw InputError(file.path() + ": \"" + path +
                         "\" is an RNTuple, and a tree in a file before; name the format that "
                         "both get: --format rntuple, or ttree");
      }
      if (!is_ntuple && table->format == OutputFormat::ntuple &&
          is_filled_by_branch(file, *asked)) {
        by_branch.insert(path);
      }
      table->parts.push_back({number, is_ntuple});
    }
  }
  for (const auto& path : by_branch) {
    notes_.push_back("\"" + path +
                     "\" stays a tree: it was filled branch by branch, which no RNTuple can be");
  }
  has_others_ = std::erase_if(tables_, [&](const auto& table) {
                  const bool is_as_before = table.format == OutputFormat::tree &&
                                            !request.fields.contains(table.path) &&
                                            std::ranges::none_of(table.parts, &Part::is_ntuple);
                  return is_as_before || by_branch.contains(table.path);
                }) > 0;
  for (const auto& table : tables_) {
    paths_.insert(table.path);
  }
}

bool JoinedTables::has(OutputFormat format) const {
  return std::ranges::count(tables_, format, &Joined::format) > 0;
}

bool JoinedTables::needs_root() {
  return std::ranges::any_of(tables_, [&](auto& table) {
    return table.format == OutputFormat::tree && Join{request_, table, {}}.needs_root();
  });
}

std::size_t JoinedTables::n_steps() const {
  std::size_t n = 0;
  for (const auto& table : tables_) {
    n += table.parts.size();
  }
  return n;
}

void JoinedTables::write(OutputFormat format, RecordFile& file, Compression compression,
                         Origins& origins, const std::function<void(std::size_t)>& progress) {
  for (auto& table : tables_) {
    if (table.format == format) {
      Join join{request_, table, compression};
      entries_[table.path] = join.write(file, origins, [&] { progress(++n_done_); });
      std::ranges::move(join.notes, std::back_inserter(notes_));
    }
  }
}

void JoinedTables::check() const {
  for (const auto& table : tables_) {
    table.check();
  }
}

}  // namespace forkrun::root_io
