#include <forkrun/formats/ttree/write/tree_writer.hpp>

#include <algorithm>
#include <set>

#include <forkrun/core/data/counted.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/root_file/plain_file.hpp>
#include <forkrun/formats/ttree/write/root_tree.hpp>

namespace forkrun::root_io {

namespace {

std::unique_ptr<RecordFile> open_file(const std::string& path, std::span<const NewBranch> columns,
                                      Compression compression, OutputMode mode) {
  if (std::ranges::any_of(columns, [](const auto& column) { return column.type.is_nested(); })) {
    return std::make_unique<OutputFile>(path, compression, mode);
  }
  return mode == OutputMode::create ? std::make_unique<PlainFile>(path, compression)
                                    : open_for_additions(path, compression);
}

}  // namespace

std::vector<NewBranch> with_counters(std::vector<NewBranch> columns) {
  std::set<std::string> lists;
  std::set<std::string> taken;
  for (const auto& column : columns) {
    taken.insert(column.name);
    if (column.type != ColumnType{column.type.element}) {
      lists.insert(column.name);
    }
  }
  std::set<std::string> shared;
  for (auto& column : columns) {
    const auto counter = column.type.is_counted() ? counter_of(column) : "";
    column.counter = lists.contains(counter) ? "" : counter;
    shared.insert(*column.counter);
  }
  taken.insert(shared.begin(), shared.end());
  for (auto& column : columns) {
    if (column.type.is_counted() && column.counter->empty()) {
      column.counter = "n" + column.name;
      while (!taken.insert(*column.counter).second) {
        *column.counter += "_";
      }
    }
  }
  std::erase_if(columns, [&](const auto& column) { return shared.contains(column.name); });
  return columns;
}

TreeWriter::TreeWriter(const std::string& path, const std::string& tree,
                       std::vector<NewBranch> columns, Compression compression,
                       const std::string& title, OutputMode mode)
    : name_{tree},
      file_{open_file(path, columns, compression, mode)},
      tree_{new_tree(*file_, tree, title, compression)},
      columns_{with_counters(std::move(columns))} {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const auto& column = columns_[i];
    const auto counter = counter_of(column);
    if (column.type.is_counted() && counted_.emplace(counter, i).second) {
      counter_names_.push_back(counter);
      counters_.emplace_back(tree_->add_counter(counter), compression);
    }
    writers_.emplace_back(tree_->add(column), compression);
  }
}

void TreeWriter::check(std::span<const Column> cluster) const {
  if (cluster.size() != columns_.size()) {
    throw OutputError("tree \"" + name_ + "\" has " + counted(columns_.size(), "column") + "; " +
                      counted(cluster.size(), "was", "were") + " given");
  }
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    if (cluster[i].n_events() != cluster[0].n_events()) {
      throw OutputError("column \"" + columns_[i].name + "\" has " +
                        counted(cluster[i].n_events(), "event") + ", \"" + columns_[0].name +
                        "\" has " + std::to_string(cluster[0].n_events()));
    }
    if (columns_[i].type.is_counted()) {
      const auto first = counted_.at(counter_of(columns_[i]));
      if (!std::ranges::equal(cluster[i].offsets(), cluster[first].offsets())) {
        throw OutputError("columns \"" + columns_[i].name + "\" and \"" + columns_[first].name +
                          "\" share a counter but differ in their numbers of values");
      }
    }
  }
}

void TreeWriter::write(std::span<const Column> cluster) {
  check(cluster);
  if (cluster.empty() || cluster[0].n_events() == 0) {
    return;
  }
  const EntryRun all{0, static_cast<std::int64_t>(cluster[0].n_events())};
  for (std::size_t i = 0; i < counters_.size(); ++i) {
    counters_[i].add_counts(cluster[counted_.at(counter_names_[i])], {&all, 1});
    counters_[i].encode();
    counters_[i].write(*file_);
  }
  for (std::size_t i = 0; i < writers_.size(); ++i) {
    writers_[i].add(cluster[i], {&all, 1});
    writers_[i].encode();
    writers_[i].write(*file_);
  }
  n_entries_ += all.last;
}

void TreeWriter::close() {
  for (auto& writer : counters_) {
    writer.finish();
  }
  for (auto& writer : writers_) {
    writer.finish();
  }
  tree_->write(n_entries_);
  file_->close();
}

}  // namespace forkrun::root_io
