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
    for (const auto& tree : config_.friends) {
      friends_.push_back(std::make_unique<FriendReader>(tree, *file_, table_->n_entries(), number,
                                                        config_.columns.size()));
    }
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

void SourceFile::begin_block() {
  for (const auto& each : friends_) {
    each->begin_block();
  }
}

const EventIds& SourceFile::load(std::int64_t first, std::int64_t last) {
  if (last > table_->n_entries() || !ids_) {
    throw InputError(file_->path() + ": has " + std::to_string(table_->n_entries()) +
                     " events, not the " + std::to_string(last) +
                     " of its index: it changed since it was indexed");
  }
  if (!file_->is_local()) {
    expect(first, config_.ahead->end_of(number_, first, last));
  }
  ids_->load(first, last);
  for (const auto& each : friends_) {
    each->load(first, last, *ids_);
  }
  return *ids_;
}

/// Says what will be read of a remote file, in the order of entries.
void SourceFile::expect(std::int64_t first, std::int64_t last) {
  if (last <= expected_end_) {
    return;
  }
  first = std::max(first, expected_end_);
  expected_end_ = last;
  std::vector<StoredPart> parts;
  ids_->add_parts(first, last, parts);
  for (const auto column : config_.expected) {
    const auto& [name, type] = config_.columns[column];
    if (const auto of = config_.friend_columns.find(name); of != config_.friend_columns.end()) {
      friends_.at(of->second.number)->add_parts(column, of->second, type, first, last, parts);
    } else if (filled(column) == nullptr) {
      reader(column).add_parts(first, last, parts);
    }
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
  SourceLane::Statistics all{file_->read_calls(), file_->read_bytes()};
  for (const auto& each : friends_) {
    all += each->statistics();
  }
  return all;
}

}  // namespace forkrun::root_io
