#include <forkrun/formats/ttree/output/cluster_begins.hpp>

#include <limits>
#include <optional>

#include <forkrun/fragments/cluster_cutter.hpp>

namespace forkrun::root_io {

namespace {

/// Notes clusters; knows nothing of the size of their events.
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

}  // namespace forkrun::root_io
