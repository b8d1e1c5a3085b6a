#include <forkrun/formats/source/source_file.hpp>

#include <algorithm>
#include <utility>

#include <forkrun/core/data/counted.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/source/event_table.hpp>
#include <forkrun/formats/source/tree_source.hpp>

namespace forkrun::root_io {

SourceFile::SourceFile(const TreeSourceConfig& config, std::uint32_t number)
    : config_{config},
      number_{number},
      readers_(config.columns.size()),
      filled_(config.columns.size()) {
  opening_again(config_.files.at(number), [this] { open(); });
}

void SourceFile::open() {
  table_.reset();
  file_ = std::make_unique<TreeFile>(config_.files.at(number_));
  if (!config_.identities.empty()) {
    file_->check_identity(config_.identities.at(number_));
  }
  file_->keep_unpacked(config_.unpacked_room);
  file_->share_baskets(config_.lane_baskets->of_file(file_->path()));
  naming_file(file_->path(), [&] {
    table_ = event_table(*file_, config_.tree_of(number_));
    if (table_->n_entries() > 0) {  // an empty tree may lack their branches
      ids_ = std::make_unique<EventIds>(*table_, file_->path(), config_.ids, number_);
    }
  });
  if (ids_) {
    for (std::size_t i = 0; i < config_.friends.size(); ++i) {
      friends_.push_back(
          std::make_unique<FriendReader>(config_.friends[i], config_.friend_rooms.at(i), *file_,
                                         table_->n_entries(), number_, config_.columns.size()));
    }
  }
  is_remote_ = !file_->is_local() || std::ranges::any_of(friends_, &FriendReader::is_remote);
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

void SourceFile::begin_block() {
  for (const auto& each : friends_) {
    each->begin_block();
  }
}

const EventIds& SourceFile::load(std::int64_t first, std::int64_t last) {
  if (last > table_->n_entries() || !ids_) {
    throw InputError(file_->path() + ": has " + counted(table_->n_entries(), "event") +
                     ", not the " + std::to_string(last) +
                     " of its index: it changed since it was indexed");
  }
  if (is_remote_) {
    expect(first, config_.ahead->end_of(number_, first, last));
  }
  ids_->load(first, last);
  for (const auto& each : friends_) {
    each->load(first, last, *ids_);
  }
  return *ids_;
}

/// Announces the ranges to read from remote files, in the order of entries.
void SourceFile::expect(std::int64_t first, std::int64_t last) {
  const bool continues = expected_.first <= first && first <= expected_.last;
  if (continues && last <= expected_.last) {
    return;
  }
  expected_.first = continues ? expected_.first : first;
  first = continues ? expected_.last : first;
  expected_.last = last;
  std::vector<StoredPart> parts;
  ids_->add_parts(first, last, parts);
  for (const auto column : config_.expected_columns) {
    const auto& [name, type] = config_.columns[column];
    if (const auto of = config_.friend_columns.find(name); of != config_.friend_columns.end()) {
      friends_.at(of->second.number)->add_parts(column, of->second, type, first, last);
    } else if (filled(column) == nullptr) {
      reader(column).add_parts(first, last, parts);
    }
  }
  for (const auto& each : friends_) {
    each->expect(first, last, parts);
  }
  file_->expect(in_order(std::move(parts)));
}

ColumnReader& SourceFile::reader(std::size_t column) {
  auto& reader = readers_[column];
  if (!reader) {
    const auto& [name, type] = config_.columns[column];
    reader = column_reader(*table_, file_->path(), name, type);
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
  const auto& [name, type] = config_.columns[column];
  if (const auto of = config_.friend_columns.find(name); of != config_.friend_columns.end()) {
    const auto& from = of->second;
    return friends_.at(from.number)->read(column, from, type, first, last, into);
  }
  naming_file(file_->path(), [&] {
    if (auto* instead = filled(column)) {
      return instead->read(first, last, into);
    }
    reader(column).read(first, last, into);
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
  auto all = file_->statistics();
  for (const auto& each : friends_) {
    all += each->statistics();
  }
  return all;
}

}  // namespace forkrun::root_io
