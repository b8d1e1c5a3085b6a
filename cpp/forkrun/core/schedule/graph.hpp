#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <forkrun/core/module/conditions.hpp>
#include <forkrun/core/module/module.hpp>
#include <forkrun/core/schedule/product_table.hpp>

namespace forkrun {

enum class ModuleKind : std::uint8_t { unknown, producer, filter, analyzer, output };

/// A module of the job with its declarations. Modules are numbered in the order in which they were
/// added.
struct ModuleRecord {
  std::string label;
  ModuleKind kind = ModuleKind::unknown;
  std::optional<Concurrency> wanted_concurrency{};
  std::uint32_t limit = 1;  ///< blocks at a time, of Concurrency::limited
  Instances instances = Instances::shared;
  bool wants_one_lumi{};
  bool sees_events_left{};
  std::set<std::string> resources{};
  std::vector<std::unique_ptr<Histogram>> histograms{};
  std::vector<std::unique_ptr<Accumulator>> accumulators{};
  std::unique_ptr<Construction> construction{};  ///< the module may have a reference to it
  std::unique_ptr<Module> module{};  ///< null if its constructor threw; destroyed before the others
  std::vector<std::unique_ptr<Module>> clones{};

  [[nodiscard]] Concurrency concurrency() const {
    return wanted_concurrency.value_or(kind == ModuleKind::analyzer ? Concurrency::one
                                                                    : Concurrency::reentrant);
  }
  [[nodiscard]] bool has_transitions() const {
    return dynamic_cast<const Transitions*>(module.get()) != nullptr;
  }
  /// Whether it is called with events of one lumi.
  [[nodiscard]] bool sees_one_lumi() const { return wants_one_lumi || has_transitions(); }
};

enum class NodeKind : std::uint8_t { source_column, producer, filter, analyzer, output };

/// A piece of `Graph::links`, or of `Graph::steps`.
struct LinkRange {
  std::uint32_t first{};
  std::uint32_t count{};
};

/// Unit of scheduling: the reading of a column of the input, or a module. Only needed ones have
/// nodes. Nodes are numbered after their dependencies.
struct Node {
  NodeKind kind{};
  Concurrency concurrency = Concurrency::reentrant;
  bool in_order{};               ///< sees the blocks of a unit in their order
  bool waits_to_commit{};        ///< sees one unit after another: see UnitSequence
  bool is_coroutine{};           ///< waits for products without a thread
  bool asks{};                   ///< requests products while it runs
  bool may_wait{};               ///< for requests: their products are not made before
  bool is_external{};            ///< has external work
  bool is_cut{};                 ///< called for one lumi of a block after another
  const ModuleRecord* record{};  ///< null for a source column
  std::uint32_t module = none;   ///< its number; none for a source column
  std::uint32_t source_column = none;
  std::uint32_t mask = none;       ///< a filter's own, or the selection of an analyzer or output
  std::uint32_t left = 0;          ///< mask of the events that a producer or filter is called with
  LinkRange inputs;                ///< nodes that make its consumed products
  LinkRange all_inputs;            ///< these, and makers of products that it may request
  LinkRange products;              ///< products that it makes
  LinkRange columns;               ///< columns among its products
  std::uint32_t gate = 0;          ///< of an analyzer or output: it sees the events that pass this
  std::uint32_t waits_for = none;  ///< union whose mask it needs first: its own is `left`
  LinkRange queues;                ///< to be passed before its call, in this order
  LinkRange cut_columns;           ///< consumed columns, if it is cut
  LinkRange steps;                 ///< of an analyzer or output: see Step
  const std::string* name{};       ///< label of the module or name of the column
};

/// Beginning of a path: the events left by its filters, of which it names the last. Paths that
/// begin with the same filters share their gates. Gate 0 has no filter: all events. A union has no
/// filter either: the events left by any of several others.
struct Gate {
  std::uint32_t parent = none;  ///< the gate before the last filter; with a smaller number
  std::uint32_t filter = none;  ///< node
  std::uint32_t filter_mask{};
  std::uint32_t mask{};  ///< the filter's own if the parent is gate 0
  LinkRange children;    ///< gates
  LinkRange unions;      ///< unions of which this gate is a part
  LinkRange parts;       ///< of a union: gates
  LinkRange analyzers;   ///< nodes
  LinkRange steps;       ///< see Step

  /// Whether nothing follows it.
  [[nodiscard]] bool is_end() const { return children.count + unions.count + analyzers.count == 0; }
};

/// A queue before modules that cannot take every block at once.
struct QueueDescription {
  std::uint32_t limit = 1;  ///< blocks at a time
  bool is_shared{};         ///< for several modules: a waiting module leaves it
};

/// One call of the serial course of a block, which tries gate after gate, then analyzer after
/// analyzer, then output after output. Each has the calls of its inputs, makers before consumers,
/// itself last, without calls that are certain to come before.
struct Step {
  std::uint32_t node{};
  bool may_be_called{};  ///< perhaps called already: for another gate, or at a module's request
  bool is_noted{};       ///< others need to know that it was called
  bool is_plain{};       ///< neither, and a producer without columns that requests nothing
};

/// A compiled job. Nodes, gates, masks and products are numbered; all lists are pieces of one flat
/// array. Built once, before the fork; afterwards read by all threads.
struct Graph {
  std::vector<Node> nodes;
  std::vector<Gate> gates;                ///< parents before children, then unions
  std::uint32_t first_union{};            ///< number of the first gate that is one
  std::vector<std::uint32_t> gate_order;  ///< gates but 0, each after the gates it waits for
  std::vector<std::uint32_t> links;
  std::vector<std::uint32_t> analyzers;  ///< nodes, in the order of their modules
  std::vector<std::uint32_t> outputs;    ///< nodes, in the order of their modules
  std::vector<Product> products;
  std::vector<std::uint32_t> makers;  ///< nodes, by product; none: not needed
  std::vector<QueueDescription> queues;
  std::vector<Step> steps;
  bool has_transitions{};       ///< modules with Transitions
  LinkRange transition_queues;  ///< to be passed before Transitions are called
  LinkRange output_queues;      ///< to be passed before outputs are opened or closed
  std::uint32_t n_masks = 1;    ///< mask 0: all events
  std::shared_ptr<const Conditions> conditions{};

  [[nodiscard]] std::span<const std::uint32_t> at(LinkRange range) const {
    return std::span{links}.subspan(range.first, range.count);
  }
  [[nodiscard]] std::span<const Step> steps_at(LinkRange range) const {
    return std::span{steps}.subspan(range.first, range.count);
  }
};

}  // namespace forkrun
