#include <forkrun/formats/ttree/output/tree_writer.hpp>

#include <algorithm>
#include <set>

#include <forkrun/core/data/counted.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/ttree/write/root_tree.hpp>

namespace forkrun::root_io {

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
    : content_{.compression = compression, .tree = tree, .title = title},
      file_{open_to_write(
          path, compression, mode,
          std::ranges::none_of(columns, [](const auto& each) { return each.type.is_nested(); }))} {
  for (const auto& [name, type, counter] : with_counters(std::move(columns))) {
    if (type.is_counted()) {
      counted_.try_emplace(*counter, content_.products.size());
      content_.counters[name] = *counter;
    }
    content_.products.push_back({name, type});
  }
  tree_ = std::make_unique<OutputTree>(*file_, path, nullptr, content_, 1);
}

void TreeWriter::check(const std::vector<Column>& cluster) const {
  const auto& columns = content_.products;
  if (cluster.size() != columns.size()) {
    throw OutputError("tree \"" + content_.tree + "\" has " + counted(columns.size(), "column") +
                      "; " + counted(cluster.size(), "was", "were") + " given");
  }
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    if (cluster[i].n_events() != cluster[0].n_events()) {
      throw OutputError("column \"" + columns[i].name + "\" has " +
                        counted(cluster[i].n_events(), "event") + ", \"" + columns[0].name +
                        "\" has " + std::to_string(cluster[0].n_events()));
    }
    if (columns[i].type.is_counted()) {
      const auto first = counted_.at(content_.counter_of(columns[i]));
      if (!std::ranges::equal(cluster[i].offsets(), cluster[first].offsets())) {
        throw OutputError("columns \"" + columns[i].name + "\" and \"" + columns[first].name +
                          "\" share a counter but differ in their numbers of values");
      }
    }
  }
}

void TreeWriter::write(const std::vector<Column>& cluster) {
  check(cluster);
  if (cluster.empty() || cluster[0].n_events() == 0) {
    return;
  }
  const EntryRange all{0, 0, static_cast<std::int64_t>(cluster[0].n_events())};
  const NewValues values{&cluster, {all.first, all.last}};
  tree_->add({&all, 1}, {&values, 1});
  tree_->end_cluster();
}

void TreeWriter::close() {
  tree_->finish();
  file_->close();
}

}  // namespace forkrun::root_io
