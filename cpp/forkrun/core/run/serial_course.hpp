#pragma once

#include <cstdint>
#include <exception>
#include <span>
#include <utility>
#include <vector>

#include <forkrun/concurrency/cache_lines.hpp>
#include <forkrun/core/module/product_fetcher.hpp>
#include <forkrun/core/run/lane.hpp>
#include <forkrun/core/schedule/graph.hpp>

namespace forkrun {

/// Takes a loaded block through the graph by plain calls, in the order of the graph's steps.
///
/// The guard is asked before each call; when it says no, the rest of the block is its own: it has
/// taken over. What is being called then (modules that wait for each other on the stack) is passed
/// to the guard when it ends. `FailureGuard` shows what a guard has to offer.
template <typename Guard>
class SerialCourse final : public ProductFetcher {
 public:
  SerialCourse(const Graph& graph, Lane& lane, Parallel& parallel, Guard guard)
      : graph_{graph},
        lane_{lane},
        parallel_{parallel},
        guard_{guard},
        called_in_(graph.nodes.size()) {}

  /// Another block was loaded: nothing is called yet.
  void begin_block() {
    ++this_block_;
    is_taken_over_ = false;
    to_pull_.clear();
  }
  /// False if the guard has taken over: then this lane may be anywhere already.
  [[nodiscard]] bool run_block() { return try_gates() && call_analyzers() && call_outputs(); }

  [[nodiscard]] bool is_called(std::uint32_t node) const { return called_in_[node] == this_block_; }

  void wait_for(std::uint32_t asker, std::uint32_t product) override {
    if (is_taken_over_ || !pull(graph_.makers[product])) {
      guard_.wait_for(asker, product);
    }
  }
  [[nodiscard]] bool ask_for(std::uint32_t asker, std::uint32_t product) override {
    return (!is_taken_over_ && pull(graph_.makers[product])) || guard_.ask_for(asker, product);
  }
  void check_made(std::uint32_t product) const override {
    if (is_taken_over_) {
      guard_.check_made(product);
    }
  }

 private:
  bool try_gates() {
    for (std::uint32_t number = 1; number < graph_.gates.size(); ++number) {
      const auto& gate = graph_.gates[number];
      if (!lane_.is_open(gate.parent)) {
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
    for (const auto number : graph_.analyzers) {
      const auto& node = graph_.nodes[number];
      if (!(lane_.select(node) ? call_all(node.steps) : pass_by(number))) {
        return false;
      }
    }
    return true;
  }

  bool call_outputs() {
    for (const auto number : graph_.outputs) {
      const auto& node = graph_.nodes[number];
      if (!(lane_.select(node) ? call_all(node.steps) : call_and_note(number))) {
        return false;
      }
    }
    return true;
  }

  bool call_all(LinkRange range) {
    for (const auto& step : graph_.steps_at(range)) {
      if constexpr (!Guard::notes_all) {
        if (step.is_plain && !lane_.is_recorded()) {  // Nothing to be asked, noted or waited for.
          if (!call_plain(step.node)) {
            return false;
          }
          continue;
        }
      }
      if (step.may_be_called && is_called(step.node)) {
        continue;
      }
      if (!call(step.node)) {
        return false;
      }
      if (Guard::notes_all || step.is_noted) {
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

  /// Only takes the turn of an analyzer that gets no events.
  bool pass_by(std::uint32_t node) {
    if (guard_.pass_by(node)) {
      called_in_[node] = this_block_;
      return true;
    }
    return take_over();
  }

  /// For a module that is being called: its maker, after all that this needs. On a list, since
  /// chains of modules may be long; modules that ask meanwhile go on above us in it.
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
        return false;  // This lane may be anywhere already.
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

  [[gnu::always_inline]] bool call_and_note(std::uint32_t node) {
    if (!call(node)) {
      return false;
    }
    called_in_[node] = this_block_;
    return true;
  }

  [[gnu::always_inline]] bool call(std::uint32_t node) {
    if (!guard_.enter(node)) {
      return take_over();
    }
    try {
      if (!lane_.call(node, *this, parallel_)) {
        return false;  // A coroutine that waits; its block was taken over by who made it wait.
      }
    } catch (...) {
      return fail(node);
    }
    if (is_taken_over_) [[unlikely]] {
      guard_.end_called(node, nullptr);
      return false;
    }
    guard_.leave(node);
    return true;
  }

  /// In a handler.
  [[gnu::noinline]] bool fail(std::uint32_t node) {
    auto failure = lane_.failure_of(node);
    if (is_taken_over_) {
      guard_.end_called(node, std::move(failure));
      return false;
    }
    called_in_[node] = this_block_;
    guard_.fail(node, std::move(failure));
    return take_over();
  }

  bool take_over() {
    is_taken_over_ = true;
    guard_.take_over();
    return false;
  }

  const Graph& graph_;
  Lane& lane_;
  Parallel& parallel_;
  Guard guard_;
  CacheLineVector<std::uint64_t> called_in_;  ///< block, by node: nothing is ever reset
  std::uint64_t this_block_{};
  struct Pull {
    std::uint32_t node{};
    bool is_expanded{};  ///< what it needs is above it
  };
  std::vector<Pull> to_pull_;
  bool is_taken_over_{};
};

}  // namespace forkrun
