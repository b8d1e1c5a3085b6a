#include <forkrun/root_io/materialise/materialise.hpp>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include <TBranch.h>
#include <TFile.h>
#include <TTree.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/root_io/materialise/entry_ranges.hpp>
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
  void add(std::span<const EntryRange> entries) override {
    const auto n = n_events_of(entries);
    tree_.add(entries, values_.next(n));
    values_.drop(n);
  }
  void add_whole(const EntryRange& entries) override {
    const auto n = entries.last - entries.first;
    tree_.add_whole(entries, values_.next(n));
    values_.drop(n);
  }
  void leave_input_cluster() override { tree_.leave_input_cluster(); }
  [[nodiscard]] double n_bytes() const override { return tree_.n_pending_bytes(); }
  void end_cluster(std::int64_t n_events) override {
    tree_.end_cluster(n_events);
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

/// One file, while it is made.
class FileMaker {
 public:
  FileMaker(const MaterialiseRequest& request, const MaterialisedFile& output, KeptInput& input,
            std::function<void(std::int64_t)> progress)
      : output_{output},
        file_{output.path, request.content.compression},
        tree_{file_, request.source.tree, input, request.content, request.n_threads},
        sink_{tree_, std::move(progress)},
        cutter_{wanted_bytes(tree_), tree_.keeps_baskets(), inputs(request.source, tree_), sink_} {}

  /// The first of these entries that are to be in this file, which are taken away from them; none
  /// if the first one is not.
  [[nodiscard]] std::optional<Selected> take(Selected& from) const {
    auto last = from.entries.last;
    if (!output_.entries.empty()) {
      const auto range = std::ranges::find_if(output_.entries, [&](const auto& mine) {
        return mine.file == from.entries.file && mine.first <= from.entries.first &&
               from.entries.first < mine.last;
      });
      if (range == output_.entries.end()) {
        return {};
      }
      last = std::min(last, range->last);
    }
    auto taken = from;
    taken.entries.last = last;
    from.first_event += last - from.entries.first;
    from.entries.first = last;
    return taken;
  }
  void add(const Selected& selected) {
    sink_.push(selected);
    cutter_.add(selected.entries);
  }
  std::int64_t finish() {
    cutter_.finish();
    tree_.finish();
    file_.close();
    return sink_.n_events();
  }

 private:
  static double wanted_bytes(const OutputTree& tree) {
    return std::max(cluster_bytes, branch_bytes * static_cast<double>(tree.n_branches()));
  }
  static ClusterCutter::InputOf inputs(const TreeSourceConfig& source, OutputTree& tree) {
    return [&](std::uint32_t number) -> InputClusters {
      return {source.clusters.at(number), tree.bytes_per_event(number)};
    };
  }

  const MaterialisedFile& output_;
  OutputFile file_;
  OutputTree tree_;
  TreeSink sink_;
  ClusterCutter cutter_;
};

/// All files, one after the other.
class FilesMaker {
 public:
  explicit FilesMaker(const MaterialiseRequest& request)
      : request_{request}, input_{request.source, request.check, request.on_open} {
    open();
  }

  void add(Selected selected) {
    while (selected.entries.first < selected.entries.last) {
      if (const auto taken = file_->take(selected)) {
        file_->add(*taken);
      } else {
        close();
        open();
      }
    }
  }
  std::vector<std::int64_t> finish() {
    close();
    while (n_events_.size() < request_.outputs.size()) {
      open();
      close();
    }
    return n_events_;
  }

 private:
  void open() {
    if (n_events_.size() == request_.outputs.size()) {
      throw Error("an event is in none of the output's files");
    }
    file_ = std::make_unique<FileMaker>(request_, request_.outputs[n_events_.size()], input_,
                                        [this](std::int64_t n_events) {
                                          if (request_.progress) {
                                            request_.progress(n_before_ + n_events);
                                          }
                                        });
  }
  void close() {
    n_events_.push_back(file_->finish());
    n_before_ += n_events_.back();
    file_.reset();
  }

  const MaterialiseRequest& request_;
  KeptInput input_;
  std::unique_ptr<FileMaker> file_;
  std::vector<std::int64_t> n_events_;
  std::int64_t n_before_{};
};

}  // namespace

std::vector<std::int64_t> materialise(const MaterialiseRequest& request) {
  try {
    FilesMaker files{request};
    for (std::size_t i = 0; i < request.fragments.size(); ++i) {
      if (request.before_group) {
        request.before_group(i);
      }
      for_each_selected(request.fragments[i], request.content,
                        [&](const Selected& selected) { files.add(selected); });
    }
    return files.finish();
  } catch (...) {
    for (const auto& output : request.outputs) {
      std::error_code ignored;
      std::filesystem::remove(output.path, ignored);
    }
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
  std::vector<std::string> names;
  for (TObject* object : *file.tree(tree).GetListOfBranches()) {
    auto& branch = static_cast<TBranch&>(*object);
    if (is_written_anew(branch, file)) {
      names.emplace_back(branch.GetName());
    }
  }
  return names;
}

}  // namespace forkrun::root_io
