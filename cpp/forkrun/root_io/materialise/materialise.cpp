#include <forkrun/root_io/materialise/materialise.hpp>

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include <TBranch.h>
#include <TFile.h>
#include <TTree.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/root_io/branch_layout.hpp>
#include <forkrun/root_io/materialise/fragment.hpp>

namespace forkrun::root_io {

namespace {

/// Uncompressed bytes of a cluster: enough for each branch, and no more than a child has room for.
constexpr double cluster_bytes = 32 << 20;
constexpr double branch_bytes = 64 << 10;

using Columns = std::shared_ptr<const std::vector<Column>>;

/// Consecutive entries with their new columns.
struct Selected {
  EntryRange entries;
  Columns columns;
  std::int64_t first_event{};  ///< of these entries, in the columns
};

/// New columns of events that were read and are not written yet, in order.
class ValueQueue {
 public:
  void push(const Selected& selected) {
    const auto n = selected.entries.last - selected.entries.first;
    auto* before = parts_.empty() ? nullptr : &parts_.back();
    if (before != nullptr && before->columns == selected.columns &&
        before->events.last == selected.first_event) {
      before->events.last += n;
    } else {
      parts_.push_back({selected.columns, {selected.first_event, selected.first_event + n}});
    }
  }
  /// Those of the next n events; valid until the next `drop`.
  [[nodiscard]] std::vector<NewValues> next(std::int64_t n) const {
    std::vector<NewValues> values;
    for (auto part = parts_.begin(); n > 0; ++part) {
      const auto last = std::min(part->events.last, part->events.first + n);
      values.push_back({part->columns.get(), {part->events.first, last}});
      n -= last - part->events.first;
    }
    return values;
  }
  void drop(std::int64_t n) {
    while (n > 0) {
      auto& part = parts_.front();
      const auto taken = std::min(n, part.events.last - part.events.first);
      part.events.first += taken;
      n -= taken;
      if (part.events.first == part.events.last) {
        parts_.pop_front();
      }
    }
  }

 private:
  struct Part {
    Columns columns;
    EntryRun events;
  };
  std::deque<Part> parts_;
};

void check_columns(const FragmentReader& fragment, const OutputContent& content,
                   const std::string& path) {
  const auto same = [](const auto& one, const auto& other) {
    return one.name == other.name && one.type == other.type;
  };
  if (!std::ranges::equal(fragment.columns(), content.products, same)) {
    throw InputError(path + ": has other columns than the output");
  }
}

/// Calls `use` with what a fragment selects, piece by piece.
template <typename Use>
void for_each_selected(const std::string& path, const OutputContent& content, const Use& use) {
  FragmentReader fragment{path};
  check_columns(fragment, content, path);
  while (auto piece = fragment.next()) {
    const auto columns = std::make_shared<const std::vector<Column>>(std::move(piece->columns));
    std::int64_t first_event = 0;
    for (const auto& entries : piece->entries) {
      use(Selected{entries, columns, first_event});
      first_event += entries.last - entries.first;
    }
  }
}

/// The same for a group of fragments, in the order of their entries.
template <typename Use>
void for_each_selected(const std::vector<std::string>& group, const OutputContent& content,
                       const Use& use) {
  if (group.size() == 1) {
    return for_each_selected(group.front(), content, use);
  }
  std::vector<Selected> all;
  for (const auto& path : group) {
    for_each_selected(path, content, [&](const Selected& selected) { all.push_back(selected); });
  }
  std::ranges::sort(all, {}, [](const auto& selected) {
    return std::pair{selected.entries.file, selected.entries.first};
  });
  std::ranges::for_each(all, use);
}

/// Writes the clusters of a tree, with the new columns of their events.
class TreeSink final : public ClusterSink {
 public:
  TreeSink(OutputTree& tree, std::function<void(std::int64_t)> progress)
      : tree_{tree}, progress_{std::move(progress)} {}

  void push(const Selected& selected) { values_.push(selected); }
  void add(std::span<const EntryRange> entries) override { tree_.add(entries); }
  void add_whole(const EntryRange& entries) override { tree_.add_whole(entries); }
  void leave_input_cluster() override { tree_.leave_input_cluster(); }
  void end_cluster(std::int64_t n_events) override {
    tree_.end_cluster(n_events, values_.next(n_events));
    values_.drop(n_events);
    n_events_ += n_events;
    if (progress_) {
      progress_(n_events_);
    }
  }
  [[nodiscard]] std::int64_t n_events() const { return n_events_; }

 private:
  OutputTree& tree_;
  std::function<void(std::int64_t)> progress_;
  ValueQueue values_;
  std::int64_t n_events_{};
};

std::int64_t write_clusters(const MaterialiseRequest& request, OutputFile& file) {
  OutputTree tree{file, request.source, request.content, request.n_threads};
  TreeSink sink{tree, request.progress};
  const auto wanted =
      std::max(cluster_bytes, branch_bytes * static_cast<double>(tree.n_branches()));
  const auto input_of = [&](std::uint32_t number) -> InputClusters {
    return {request.source.clusters.at(number), tree.bytes_per_event(number)};
  };
  ClusterCutter cutter{wanted, tree.keeps_baskets(), input_of, sink};
  for (std::size_t i = 0; i < request.fragments.size(); ++i) {
    if (request.before_group) {
      request.before_group(i);
    }
    for_each_selected(request.fragments[i], request.content, [&](const Selected& selected) {
      sink.push(selected);
      cutter.add(selected.entries);
    });
  }
  cutter.finish();
  tree.finish();
  return sink.n_events();
}

}  // namespace

std::int64_t materialise(const MaterialiseRequest& request) {
  OutputFile file{request.output, request.content.compression};
  try {
    const auto n_events = write_clusters(request, file);
    file.close();
    return n_events;
  } catch (...) {
    file.abandon();
    throw;
  }
}

std::int64_t events_of_fragment(const std::string& path) {
  FragmentReader fragment{path};
  std::int64_t n_events = 0;
  while (const auto piece = fragment.next()) {
    n_events += piece->n_events();
  }
  return n_events;
}

std::vector<std::string> branches_written_anew(const std::string& path, const std::string& tree) {
  const InputFile file{path};
  const bool has_references = file.file().GetNProcessIDs() > 0;
  std::vector<std::string> names;
  for (TObject* object : *file.tree(tree).GetListOfBranches()) {
    auto& branch = static_cast<TBranch&>(*object);
    if (!is_relocatable(branch) || (has_references && branch.IsA() != TBranch::Class())) {
      names.emplace_back(branch.GetName());
    }
  }
  return names;
}

}  // namespace forkrun::root_io
