#include <forkrun/formats/ttree/read/source_file.hpp>

#include <algorithm>
#include <utility>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/ttree/read/event_table.hpp>
#include <forkrun/formats/ttree/read/tree_source.hpp>

namespace forkrun::root_io {

SourceFile::SourceFile(const TreeSourceConfig& config, std::uint32_t number)
    : config_{config},
      number_{number},
      file_{std::make_unique<TreeFile>(config.files.at(number))},
      readers_(config.columns.size()),
      filled_(config.columns.size()) {
  if (!config_.identities.empty()) {
    file_->check_identity(config_.identities.at(number));
  }
  file_->keep_unpacked(config_.unpacked_room);
  naming_file(file_->path(), [&] {
    table_ = event_table(*file_, config_.tree_of(number));
    if (table_->n_entries() > 0) {  // without entries it may lack their branches
      ids_ = std::make_unique<EventIds>(*table_, file_->path(), config_.ids, number);
    }
  });
  if (ids_) {
    open_friends();
  }
}

SourceFile::~SourceFile() = default;

TTree& SourceFile::tree() const {
  if (tree_of_root_ == nullptr) {
    tree_of_root_ = &file_->tree(config_.tree_of(number_));
  }
  return *tree_of_root_;
}

const InputTree& SourceFile::input_tree() const {
  return file_->input_tree(config_.tree_of(number_));
}

void SourceFile::open_friends() {
  for (const auto& tree : config_.friends) {
    const auto& path = tree.parts.at(number_).file;
    naming_file(path, [&] { friends_.push_back(open_friend(tree)); });
  }
}

SourceFile::OpenFriend SourceFile::open_friend(const FriendTree& tree) const {
  const auto& part = tree.parts.at(number_);
  OpenFriend opened{nullptr, file_.get(), nullptr, part.first_entry};
  if (part.file != file_->path()) {
    opened.own = std::make_unique<TreeFile>(part.file);
    opened.own->check_identity(part.identity);
    opened.own->keep_unpacked(config_.unpacked_room);
    opened.file = opened.own.get();
  }
  opened.table = event_table(*opened.file, part.tree);
  if (opened.table->n_entries() < part.first_entry + table_->n_entries()) {
    throw InputError(part.file + ": tree \"" + part.tree + "\" has " +
                     std::to_string(opened.table->n_entries()) +
                     " entries, too few to be a friend of " + file_->path());
  }
  if (!tree.ids.event.empty()) {
    opened.ids = std::make_unique<EventIds>(*opened.table, part.file, tree.ids, number_);
  }
  return opened;
}

const EventIds& SourceFile::load(std::int64_t first, std::int64_t last) {
  if (last > table_->n_entries() || !ids_) {
    throw InputError(file_->path() + ": has " + std::to_string(table_->n_entries()) +
                     " events, not the " + std::to_string(last) +
                     " of its index: it changed since it was indexed");
  }
  expect(first, config_.ahead->end_of(number_, first, last));
  ids_->load(first, last);
  for (const auto& each : friends_) {
    if (each.ids) {
      naming_file(each.file->path(), [&] { check_events(each, first, last); });
    }
  }
  return *ids_;
}

/// Says what will be read of a remote file, in the order of entries.
void SourceFile::expect(std::int64_t first, std::int64_t last) {
  if (file_->is_local() || last <= expected_end_) {
    return;
  }
  first = std::max(first, expected_end_);
  expected_end_ = last;
  std::vector<StoredPart> parts;
  ids_->add_parts(first, last, parts);
  for (const auto column : config_.expected) {
    const auto origin = origin_of(column);
    if (&origin.file == file_.get() && filled(column) == nullptr) {
      reader(column, origin).add_parts(first, last, parts);
    }
  }
  file_->expect(in_order(std::move(parts)));
}

/// That a friend has the events of entries [first, last), one by one.
void SourceFile::check_events(const OpenFriend& other, std::int64_t first,
                              std::int64_t last) const {
  other.ids->load(other.first_entry + first, other.first_entry + last);
  const auto events = ids_->events();
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (other.ids->events()[i] != events[i] || other.ids->lumi(i) != ids_->lumi(i)) {
      const auto entry = first + static_cast<std::int64_t>(i);
      throw InputError(other.file->path() + ": entry " + std::to_string(other.first_entry + entry) +
                       " of tree \"" + other.table->name() + "\" is another event than entry " +
                       std::to_string(entry) + " of " + file_->path() +
                       ", whose friend it is to be");
    }
  }
}

SourceFile::Origin SourceFile::origin_of(std::size_t column) const {
  const auto& name = config_.columns[column].name;
  const auto found = config_.friend_columns.find(name);
  if (found == config_.friend_columns.end()) {
    return {*file_, *table_, name, 0};
  }
  const auto& from = friends_.at(found->second.number);
  return {*from.file, *from.table, found->second.branch, from.first_entry};
}

ColumnReader& SourceFile::reader(std::size_t column, const Origin& origin) {
  auto& reader = readers_[column];
  if (!reader) {
    const auto& wanted = config_.columns[column];
    reader = origin.table.reader(origin.branch);
    if (reader->type() != wanted.type) {
      throw InputError(origin.file.path() + ": branch \"" + origin.branch + "\" is " +
                       reader->described_type() + ", in the first file it is " +
                       wanted.type.name());
    }
  }
  return *reader;
}

FilledColumn* SourceFile::filled(std::size_t column) {
  const auto& wanted = config_.columns[column];
  const auto fill = config_.fills.find(wanted.name);
  if (readers_[column] || fill == config_.fills.end()) {
    return nullptr;
  }
  auto& filled = filled_[column];
  if (!filled && !table_->has(wanted.name)) {
    const auto& [value, name] = fill->second;
    const bool has_counter = !name.empty() && table_->has(name);
    filled = std::make_unique<FilledColumn>(wanted.type, value,
                                            has_counter ? table_->reader(name) : nullptr);
  }
  return filled.get();
}

void SourceFile::read(std::size_t column, std::int64_t first, std::int64_t last, Column& into) {
  const auto origin = origin_of(column);
  naming_file(origin.file.path(), [&] {
    if (auto* instead = filled(column)) {
      return instead->read(first, last, into);
    }
    reader(column, origin).read(origin.first_entry + first, origin.first_entry + last, into);
  });
}

void SourceFile::read_branch(const std::string& name, std::int64_t first, std::int64_t last,
                             Column& into) {
  auto& reader = branches_[name];
  if (!reader) {
    reader = table_->reader(name);
  }
  naming_file(file_->path(), [&] { reader->read(first, last, into); });
}

SourceLane::Statistics SourceFile::statistics() const {
  SourceLane::Statistics all{file_->read_calls(), file_->read_bytes()};
  for (const auto& each : friends_) {
    all.read_calls += each.own ? each.own->read_calls() : 0;
    all.read_bytes += each.own ? each.own->read_bytes() : 0;
  }
  return all;
}

}  // namespace forkrun::root_io
