#include <algorithm>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include <forkrun/concurrency/cache_lines.hpp>
#include <forkrun/core/module/coroutine.hpp>
#include <forkrun/core/run/block_loop.hpp>
#include <forkrun/core/run/lane.hpp>
#include <forkrun/core/schedule/graph.hpp>

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

/// Takes a loaded block through the graph by plain calls, in the order of the graph's steps. After
/// the first failure no module is called.
class SerialCourse final : public ProductFetcher {
 public:
  SerialCourse(const Graph& graph, Lane& lane, Parallel& parallel)
      : graph_{graph}, lane_{lane}, parallel_{parallel}, called_in_(graph.nodes.size()) {}

  /// Processes the block loaded last. Throws the module's exceptions, with the place.
  void run_block() {
    ++this_block_;
    to_pull_.clear();
    if (!(try_gates() && call_analyzers() && call_outputs())) {
      std::rethrow_exception(std::exchange(failure_, nullptr));
    }
  }

  void wait_for(std::uint32_t asker, std::uint32_t product) override {
    (void)ask_for(asker, product);
    check_made(product);
  }
  [[nodiscard]] bool ask_for(std::uint32_t /*asker*/, std::uint32_t product) override {
    if (!failure_) {
      (void)pull(graph_.makers[product]);
    }
    return true;
  }
  void check_made(std::uint32_t /*product*/) const override {
    if (failure_) {
      throw ProductNotMade{};
    }
  }

 private:
  bool try_gates() {
    for (const auto number : graph_.gate_order) {
      const auto& gate = graph_.gates[number];
      if (gate.filter == none) {
        lane_.unite(number);
      } else if (!lane_.is_open(gate.parent)) {
        lane_.close(number);
      } else if (call_all(gate.steps)) {
        lane_.pass(number);
      } else {
        return false;
      }
    }
    return true;
  }

  bool call_analyzers() {
    return std::ranges::all_of(graph_.analyzers, [this](auto number) {
      const auto& node = graph_.nodes[number];
      return !lane_.is_open(node.gate) || call_all(node.steps);
    });
  }

  bool call_outputs() {
    return std::ranges::all_of(graph_.outputs, [this](auto number) {
      const auto& node = graph_.nodes[number];
      return lane_.is_open(node.gate) ? call_all(node.steps) : call_and_note(number);
    });
  }

  bool call_all(LinkRange range) {
    for (const auto& step : graph_.steps_at(range)) {
      if (step.is_plain && !lane_.is_recorded()) {  // Nothing to request or record.
        if (!call_plain(step.node)) {
          return false;
        }
        continue;
      }
      if (step.may_be_called && is_called(step.node)) {
        continue;
      }
      if (!call(step.node)) {
        return false;
      }
      if (step.is_noted) {
        called_in_[step.node] = this_block_;
      }
    }
    return true;
  }

  [[gnu::always_inline]] bool call_plain(std::uint32_t node) {
    try {
      lane_.produce_plain(node);
      return true;
    } catch (...) {
      return fail(node);
    }
  }

  /// Makes a product for a running module, inputs first. On a list, since chains of modules may be
  /// long; nested requests of modules use the list above this one's part.
  bool pull(std::uint32_t node) {
    const auto bottom = to_pull_.size();
    to_pull_.push_back({node, false});
    while (to_pull_.size() > bottom) {
      auto& [last, is_expanded] = to_pull_.back();
      if (is_called(last)) {
        to_pull_.pop_back();
      } else if (!is_expanded) {
        is_expanded = true;
        expand(last);
      } else if (!call_and_note(last)) {
        return false;
      }
    }
    return true;
  }

  void expand(std::uint32_t node) {
    const auto inputs = graph_.at(graph_.nodes[node].inputs);
    for (auto input = inputs.rbegin(); input != inputs.rend(); ++input) {  // The first on top.
      if (!is_called(*input)) {
        to_pull_.push_back({*input, false});
      }
    }
  }

  [[nodiscard]] bool is_called(std::uint32_t node) const { return called_in_[node] == this_block_; }

  [[gnu::always_inline]] bool call_and_note(std::uint32_t node) {
    if (!call(node)) {
      return false;
    }
    called_in_[node] = this_block_;
    return true;
  }

  /// False also if a module requested something whose making failed.
  [[gnu::always_inline]] bool call(std::uint32_t node) {
    try {
      (void)lane_.call(node, *this, parallel_);  // Never waits: products are made at once.
    } catch (...) {
      return fail(node);
    }
    return failure_ == nullptr;
  }

  /// In a handler.
  [[gnu::noinline]] bool fail(std::uint32_t node) {
    if (!failure_) {
      failure_ = lane_.failure_of(node);
    }
    return false;
  }

  const Graph& graph_;
  Lane& lane_;
  Parallel& parallel_;
  CacheLineVector<std::uint64_t> called_in_;  ///< block, by node: nothing is ever reset
  std::uint64_t this_block_{};
  struct Pull {
    std::uint32_t node{};
    bool is_expanded{};  ///< its inputs are above it
  };
  std::vector<Pull> to_pull_;
  std::exception_ptr failure_;
};

class SerialLoop final : public BlockLoop {
 public:
  SerialLoop(const Graph& graph, std::unique_ptr<Lane> lane)
      : lane_{std::move(lane)}, course_{graph, *lane_, parallel_} {}

  void run(UnitSteps& steps) override {
    bool has_unit = steps.take(*unit_);
    while (has_unit) {
      steps.begin(*unit_);
      if (!unit_->has_failed()) {
        run_blocks();
      }
      unit_->add(lane_->take_share());
      const bool is_next_known = steps.must_know_next() && !unit_->has_failed();
      has_unit = is_next_known && steps.take(*next_);
      steps.end(*unit_, has_unit ? next_.get() : nullptr);
      steps.close(*unit_, parallel_);
      steps.commit(*unit_);
      if (unit_->has_failed()) {
        std::rethrow_exception(unit_->failure());
      }
      has_unit = is_next_known ? has_unit && !steps.is_stopped() : steps.take(*next_);
      unit_.swap(next_);
    }
    steps.rethrow_failure();
  }

 private:
  void run_blocks() {
    std::uint32_t number = 0;
    try {
      for (; number < unit_->n_blocks(); ++number) {
        if (unit_->is_stopped()) {
          throw Stopped{};
        }
        lane_->load(unit_->block(number));
        course_.run_block();
        lane_->end_block();
      }
    } catch (...) {
      unit_->fail(UnitInFlight::at_block(number), std::current_exception());
    }
  }

  std::unique_ptr<Lane> lane_;
  std::unique_ptr<UnitInFlight> unit_ = std::make_unique<UnitInFlight>(1, true);
  std::unique_ptr<UnitInFlight> next_ = std::make_unique<UnitInFlight>(1, true);
  SerialParallel parallel_;
  SerialCourse course_;
};

}  // namespace

std::unique_ptr<BlockLoop> make_serial_loop(const Graph& graph, const MakeLane& make_lane) {
  return std::make_unique<SerialLoop>(graph, make_lane(0));
}

}  // namespace forkrun
