#include <cstdint>
#include <utility>

#include <forkrun/core/block_loop.hpp>

namespace forkrun {

namespace {

class SerialParallel final : public Parallel {
 public:
  void for_each(std::size_t n, const std::function<void(std::size_t)>& body) override {
    for (std::size_t i = 0; i < n; ++i) {
      body(i);
    }
  }
};

/// Pulls: whoever needs a product calls its maker first, depth first. A node has been called for
/// this block if its number of the last block is the current one, so nothing is ever reset.
class SerialLoop final : public BlockLoop {
 public:
  SerialLoop(const Graph& graph, std::unique_ptr<Lane> lane)
      : graph_{graph}, lane_{std::move(lane)}, called_in_(graph.nodes.size()) {}

  void run(LumiId lumi, std::span<const EntryRange> blocks) override {
    std::uint64_t sequence = 0;
    for (const auto& range : blocks) {
      lane_->load({lumi, range, sequence++});
      ++this_block_;
      run_block();
      lane_->end_block();
    }
  }

  [[nodiscard]] Parallel& parallel() override { return parallel_; }
  [[nodiscard]] std::vector<Lane*> lanes() override { return {lane_.get()}; }

 private:
  void run_block() {
    for (std::uint32_t gate = 1; gate < graph_.gates.size(); ++gate) {
      try_gate(gate);
    }
    for (const auto analyzer : graph_.analyzers) {
      if (lane_->select(graph_.nodes[analyzer])) {
        pull(analyzer);
      }
    }
    for (const auto output : graph_.outputs) {
      if (lane_->select(graph_.nodes[output])) {
        pull(output);
      } else {
        lane_->call(graph_.nodes[output], parallel_);
      }
    }
  }

  void try_gate(std::uint32_t number) {
    const auto& gate = graph_.gates[number];
    if (!lane_->is_open(gate.parent)) {
      lane_->close(number);
      return;
    }
    pull(gate.filter);
    lane_->pass(number);
  }

  void pull(std::uint32_t number) {
    if (called_in_[number] == this_block_) {
      return;
    }
    called_in_[number] = this_block_;
    const auto& node = graph_.nodes[number];
    for (const auto input : graph_.at(node.inputs)) {
      pull(input);
    }
    lane_->call(node, parallel_);
  }

  const Graph& graph_;
  std::unique_ptr<Lane> lane_;
  SerialParallel parallel_;
  std::vector<std::uint64_t> called_in_;  ///< by node
  std::uint64_t this_block_{};
};

}  // namespace

std::unique_ptr<BlockLoop> make_serial_loop(const Graph& graph, const MakeLane& make_lane) {
  return std::make_unique<SerialLoop>(graph, make_lane(0));
}

}  // namespace forkrun
