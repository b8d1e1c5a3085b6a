#include <forkrun/formats/merge/origins.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>

#include <forkrun/core/data/column.hpp>
#include <forkrun/core/data/counted.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/ttree/layout/leaf_form.hpp>
#include <forkrun/formats/ttree/read/branch_reader.hpp>
#include <forkrun/formats/ttree/read/input_tree.hpp>
#include <forkrun/formats/ttree/write/branch_writer.hpp>
#include <forkrun/formats/ttree/write/root_tree.hpp>

namespace forkrun::root_io {

namespace {

constexpr ColumnType uuids{ElementType::uint64, Shape::scalar};
constexpr ColumnType counts{ElementType::int64, Shape::scalar};
constexpr ColumnType text{ElementType::uint8, Shape::jagged};

/// More cannot be: what is damaged is not to overflow a sum.
constexpr std::int64_t most_rows = std::int64_t{1} << 40;

/// The columns of the record; `path` has the characters of a tree's path.
struct Record {
  Column uuid_high{uuids};
  Column uuid_low{uuids};
  Column n_bytes{counts};
  Column n_rows{counts};
  Column path{text};

  using Named = std::pair<const char*, Column*>;
  std::array<Named, 5> columns() {
    return {Named{"uuid_high", &uuid_high}, Named{"uuid_low", &uuid_low},
            Named{"n_bytes", &n_bytes}, Named{"n_rows", &n_rows}, Named{"path", &path}};
  }
};

void read_column(const InputTree& tree, TreeFile& file, const char* name, Column& column) {
  BranchReader reader{tree.branch(name), file};
  if (reader.layout().column != column.type()) {
    throw InputError(file.path() + ": branch \"" + name + "\" of tree \"" + origin_record +
                     "\" is " + reader.layout().described_type() + ", not " + column.type().name() +
                     "; forkrun did not write this tree");
  }
  reader.read(0, tree.n_entries(), column);
}

Record columns_of(const OriginsByPath& origins) {
  std::vector<std::pair<const std::string*, const OriginRows*>> rows;
  std::size_t n_characters = 0;
  for (const auto& [path, parts] : origins) {
    for (const auto& part : parts) {
      rows.emplace_back(&path, &part);
      n_characters += path.size();
    }
  }
  Record record;
  const auto high = record.uuid_high.fill_scalar<std::uint64_t>(rows.size());
  const auto low = record.uuid_low.fill_scalar<std::uint64_t>(rows.size());
  const auto n_bytes = record.n_bytes.fill_scalar<std::int64_t>(rows.size());
  const auto n_rows = record.n_rows.fill_scalar<std::int64_t>(rows.size());
  auto* characters = record.path.resize_values(n_characters);
  const auto offsets = record.path.resize_offsets(rows.size());
  offsets[0] = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& [path, part] = rows[i];
    high[i] = part->origin.uuid_high;
    low[i] = part->origin.uuid_low;
    n_bytes[i] = part->origin.n_bytes;
    n_rows[i] = part->n_rows;
    std::memcpy(characters + offsets[i], path->data(), path->size());
    offsets[i + 1] = offsets[i] + static_cast<std::int64_t>(path->size());
  }
  return record;
}

}  // namespace

std::optional<OriginsByPath> read_origins(TreeFile& file) {
  if (!file.has(origin_record)) {
    return {};
  }
  const auto& tree = file.input_tree(origin_record);
  Record record;
  for (const auto& [name, column] : record.columns()) {
    read_column(tree, file, name, *column);
  }
  OriginsByPath origins;
  const auto paths = record.path.jagged<std::uint8_t>();
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::string path{paths[i].begin(), paths[i].end()};
    const auto n_rows = record.n_rows.values<std::int64_t>()[i];
    if (n_rows < 0 || n_rows > most_rows) {
      throw InputError(file.path() + ": tree \"" + origin_record +
                       "\" is damaged: " + counted(n_rows, "row") + " of \"" + path + '"');
    }
    origins[path].push_back(
        {{record.uuid_high.values<std::uint64_t>()[i], record.uuid_low.values<std::uint64_t>()[i],
          record.n_bytes.values<std::int64_t>()[i]},
         n_rows});
  }
  return origins;
}

void write_origins(RecordFile& file, const OriginsByPath& origins, Compression compression) {
  constexpr const char* title = "files that rows of other trees came from";
  const auto tree = new_tree(file, origin_record, title, compression);
  auto record = columns_of(origins);
  const EntryRun all{0, static_cast<std::int64_t>(record.path.n_events())};
  const auto write = [&](std::unique_ptr<WrittenBranch> branch, const auto& add) {
    BranchWriter writer{std::move(branch), compression};
    add(writer);
    writer.encode();
    writer.write(file);
    writer.finish();
  };
  auto counter = tree->add_counter(counter_name("path"));
  for (const auto& [name, column] : record.columns()) {
    write(tree->add({name, column->type()}),
          [&](BranchWriter& writer) { writer.add(*column, {&all, 1}); });
  }
  write(std::move(counter),
        [&](BranchWriter& writer) { writer.add_counts(record.path, {&all, 1}); });
  tree->write(all.last);
}

namespace {

/// Path of the rows that say from which files the objects come.
const std::string of_objects;

std::int64_t n_rows_of(const std::vector<OriginRows>& origins) {
  return std::accumulate(origins.begin(), origins.end(), std::int64_t{},
                         [](auto sum, const auto& part) { return sum + part.n_rows; });
}

}  // namespace

void Origins::begin_file(TreeFile& file) {
  file_ = file.path();
  own_ = Origin::of(file.identity().uuid, file.identity().n_bytes);
  record_ = read_origins(file);
  if (record_) {
    for (const auto& [path, origins] : *record_) {
      recorded_.insert(path);
    }
  }
}

const std::vector<OriginRows>* Origins::carried(const std::string& path) const {
  if (!record_) {
    return nullptr;
  }
  const auto known = record_->find(path);
  return known == record_->end() ? nullptr : &known->second;
}

TakenRows Origins::take(RowOrigins& origins, const std::string& path) {
  const auto* known = carried(path);
  return known != nullptr ? origins.take_carried(file_, *known)
                          : origins.take_own(file_, {own_, 0});
}

TakenRows Origins::take_rows(const std::string& path) { return take(rows_[path], path); }

void Origins::check_rows(const std::string& path, std::int64_t n_rows) const {
  const auto* known = carried(path);
  if (known == nullptr || n_rows_of(*known) == n_rows) {
    return;
  }
  throw InputError(file_ + ": tree \"" + path + "\" has " + counted(n_rows, "row") + ", but \"" +
                   origin_record + "\" says where " + std::to_string(n_rows_of(*known)) +
                   " came from: another program joined it with files that do not say it; merge the "
                   "files that it was made of");
}

void Origins::add_rows(const std::string& path, const TakenRows& taken, std::int64_t n_rows,
                       std::int64_t n_taken) {
  auto& rows = output_[path];
  if (carried(path) != nullptr) {
    rows.insert(rows.end(), taken.origins.begin(), taken.origins.end());
  } else if (taken.is_all()) {
    rows.push_back({own_, n_rows});
  }
  if (n_taken < n_rows) {
    left_out_[path] += n_rows - n_taken;
  }
}

bool Origins::takes_object(const std::string& path) {
  const auto taken = take(objects_[path], of_objects);
  if (!taken.is_all() && !taken.origins.empty()) {
    throw InputError(
        file_ + ": object \"" + path +
        "\" is a sum over input files, and some of them, not all, were in it of " +
        taken.other_file +
        " already; make these outputs over files that are the same or others, or merge "
        "only trees (--trees)");
  }
  for (const auto& part : taken.origins) {
    if (in_objects_.insert(part.origin).second) {
      output_[of_objects].push_back({part.origin, 0});
    }
  }
  return taken.is_all();
}

OriginsByPath Origins::of_output() const {
  OriginsByPath wanted;
  std::ranges::copy_if(output_, std::inserter(wanted, wanted.end()), [&](const auto& path_rows) {
    return records_all_ || recorded_.contains(path_rows.first);
  });
  return wanted;
}

std::vector<std::string> Origins::notes() const {
  std::vector<std::string> lines;
  for (const auto& [path, n_rows] : left_out_) {
    lines.push_back("tree \"" + path + "\": taken once: " + counted(n_rows, "row") +
                    " of input files that were carried more than once");
  }
  return lines;
}

}  // namespace forkrun::root_io
