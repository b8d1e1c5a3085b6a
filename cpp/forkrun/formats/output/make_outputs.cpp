#include <forkrun/formats/output/make_outputs.hpp>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <limits>
#include <optional>
#include <tuple>

#include <TBranch.h>
#include <TTree.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/rntuple/output/ntuple_input.hpp>
#include <forkrun/formats/ttree/output/kept_input.hpp>
#include <forkrun/fragments/cluster_cutter.hpp>
#include <forkrun/fragments/fragment.hpp>

namespace forkrun::root_io {

namespace {

/// Notes clusters, without the size of their events.
class Begins final : public ClusterSink {
 public:
  void add(std::span<const EntryRange> entries) override { note(entries.front()); }
  void add_whole(const EntryRange& entries) override { note(entries); }
  [[nodiscard]] double n_bytes() const override { return 0; }
  void end_cluster(std::int64_t n_events) override {
    const auto& first = present_.value();
    all.push_back({first.file, first.first, n_events});
    present_.reset();
  }

  std::vector<ClusterBegin> all;

 private:
  void note(const EntryRange& entries) {
    if (!present_) {
      present_ = entries;
    }
  }

  std::optional<EntryRange> present_;
};

}  // namespace

std::vector<ClusterBegin> cluster_begins(const OutputToMake& output, OutputFormat format,
                                         const TreeSourceConfig& source) {
  const auto input = output_input(format, source, BasketCheck::Depth::headers, {});
  const auto make_table = input->tables(output.content, 1);
  const auto table = make_table(output.files.front().path);
  Begins begins;
  const auto input_of = [&](std::uint32_t number) -> InputClusters {
    return {input->clusters(number), table->bytes_per_event(number)};
  };
  ClusterCutter cutter{table->wanted_cluster_bytes(), table->keeps_whole(), input_of, begins};
  SelectedEvents events{output.fragments, &output.content.products, output.before_group};
  while (events.front() != nullptr) {
    cutter.add(events.take_before(std::numeric_limits<std::int64_t>::max()).entries);
  }
  cutter.finish();
  table->abandon();
  return std::move(begins.all);
}

namespace {

/// Limit for collected events of outputs that are made together.
constexpr double most_pending_bytes = 256 << 20;

/// Outputs that are made together, and their progress.
class Pass {
 public:
  Pass(OutputInput& input, std::size_t n_threads) : input_{input}, n_threads_{n_threads} {}

  /// False if there is no room for it.
  bool add(const OutputToMake& output) {
    auto& maker = makers_.emplace_back(output, input_, n_threads_);
    n_bytes_ += maker.most_pending_bytes();
    if (makers_.size() > 1 && n_bytes_ > most_pending_bytes) {
      makers_.pop_back();
      return false;
    }
    return true;
  }

  /// Adds the events in each file, by output.
  void run(std::vector<std::vector<std::int64_t>>& n_events) {
    while (const auto* next = first()) {
      const auto cluster = cluster_of(*next);
      for (auto& maker : makers_) {
        maker.add(cluster);
      }
      input_.forget();
    }
    for (auto& maker : makers_) {
      n_events.push_back(maker.finish());
    }
  }

 private:
  /// The first entry in the input, among the next entries of the outputs.
  const Selected* first() {
    const Selected* first = nullptr;
    std::tuple<std::size_t, std::uint32_t, std::int64_t> place;
    for (auto& maker : makers_) {
      const auto* next = maker.next();
      if (next == nullptr) {
        continue;
      }
      const std::tuple its{maker.group(), next->entries.file, next->entries.first};
      if (first == nullptr || its < place) {
        first = next;
        place = its;
      }
    }
    return first;
  }

  [[nodiscard]] EntryRange cluster_of(const Selected& selected) const {
    const auto& [file, first, last] = selected.entries;
    const auto [begin, end] = cluster_around(input_.clusters(file), first, last);
    return {file, begin, end};
  }

  OutputInput& input_;
  std::size_t n_threads_;
  std::deque<OutputMaker> makers_;
  double n_bytes_{};
};

/// Entries of each file in all outputs together.
RanksOfFiles selected_of(const OutputsRequest& request, OutputInput& input) {
  std::map<std::uint32_t, std::shared_ptr<EntryRanks>> found;
  const auto add = [&](const EntryRange& entries) {
    auto& ranks = found[entries.file];
    if (!ranks) {
      const auto clusters = input.clusters(entries.file);
      ranks = std::make_shared<EntryRanks>(clusters.empty() ? 0 : clusters.back());
    }
    ranks->add(entries.first, entries.last);
  };
  for (const auto& output : request.outputs) {
    SelectedEvents events{output.fragments, nullptr, output.before_group};
    while (const auto* next = events.front()) {
      add(events.take_before(next->entries.last).entries);
    }
  }
  for (const auto& [file, ranks] : found) {
    ranks->count();
  }
  return {found.begin(), found.end()};
}

std::vector<std::vector<std::int64_t>> make_all(const std::vector<OutputToMake>& outputs,
                                                OutputInput& input, std::size_t n_threads) {
  std::vector<std::vector<std::int64_t>> n_events;
  for (auto output = outputs.begin(); output != outputs.end();) {
    Pass pass{input, n_threads};
    while (output != outputs.end() && pass.add(*output)) {
      ++output;
    }
    pass.run(n_events);
  }
  return n_events;
}

}  // namespace

std::unique_ptr<OutputInput> output_input(OutputFormat format, const TreeSourceConfig& config,
                                          BasketCheck::Depth check,
                                          std::function<void(std::size_t)> on_open) {
  if (format == OutputFormat::ntuple) {
    return std::make_unique<rntuple::NtupleInput>(config, std::move(on_open));
  }
  return std::make_unique<SharedInput>(config, check, std::move(on_open));
}

std::vector<std::vector<std::int64_t>> make_outputs(const std::vector<OutputToMake>& outputs,
                                                    OutputInput& input, std::size_t n_threads) {
  try {
    return make_all(outputs, input, n_threads);
  } catch (...) {
    for (const auto& output : outputs) {
      for (const auto& file : output.files) {
        std::error_code ignored;
        std::filesystem::remove(file.path, ignored);
      }
    }
    throw;
  }
}

std::vector<std::vector<std::int64_t>> make_outputs(const OutputsRequest& request) {
  const auto input = output_input(request.format, request.source, request.check, request.on_open);
  if (request.source.unpacked_room && request.format == OutputFormat::tree) {
    input->keep_only(selected_of(request, *input));
  }
  return make_outputs(request.outputs, *input, request.n_threads);
}

std::int64_t events_of_fragment(const std::string& path) {
  FragmentReader fragment{path};
  std::int64_t n_events = 0;
  while (const auto piece = fragment.next()) {
    n_events += piece->n_events();
  }
  return n_events;
}

std::vector<std::string> rewritten_branches(const std::string& path, const std::string& tree,
                                            bool has_references) {
  const TreeFile file{path};
  std::vector<std::string> names;
  if (file.plain_members(tree)) {
    return names;
  }
  for (TObject* object : *file.tree(tree).GetListOfBranches()) {
    auto& branch = static_cast<TBranch&>(*object);
    if (is_rewritten(branch, [&] { return has_references || file.has_references(); })) {
      names.emplace_back(branch.GetName());
    }
  }
  return names;
}

}  // namespace forkrun::root_io
