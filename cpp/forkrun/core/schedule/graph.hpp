#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <forkrun/core/module/conditions.hpp>
#include <forkrun/core/module/module.hpp>
#include <forkrun/core/schedule/module_record.hpp>
#include <forkrun/core/schedule/product_table.hpp>

namespace forkrun {

enum class NodeKind : std::uint8_t { source_column, producer, filter, analyzer, output };

/// A piece of `Graph::links`, or of `Graph::steps`.
struct LinkRange {
  std::uint32_t first{};
  std::uint32_t count{};
};

/// What is scheduled: the reading of a column of the input, or a module. Only what is needed
/// has a node. Nodes are numbered after those that they depend on.
struct Node {
  NodeKind kind{};
  Concurrency concurrency = Concurrency::reentrant;
  bool in_order{};               ///< sees the blocks of a unit in their order
  bool waits_to_commit{};        ///< sees one unit after another: see UnitSequence
  bool is_coroutine{};           ///< waits for products without a thread
  bool asks{};                   ///< for products, while it runs
  bool may_wait{};               ///< for them: they are not made before
  bool is_external{};            ///< has part of its work done outside
  bool is_cut{};                 ///< is called for one lumi of a block after the other
  const ModuleRecord* record{};  ///< null for a source column
  std::uint32_t module = none;   ///< its number; none for a source column
  std::uint32_t source_column = none;
  std::uint32_t mask = none;       ///< a filter's own, or what an analyzer or output selects
  std::uint32_t left = 0;          ///< mask of the events that a producer or filter is called with
  LinkRange inputs;                ///< nodes that make what this one consumes
  LinkRange all_inputs;            ///< these and those that make what it may ask for
  LinkRange products;              ///< what this one makes
  LinkRange columns;               ///< those of its products that are columns
  std::uint32_t gate = 0;          ///< of an analyzer or output: it sees the events that pass this
  std::uint32_t waits_for = none;  ///< union whose mask has to be known before: its own is `left`
  LinkRange queues;                ///< to be passed before it is called, in this order
  LinkRange cut_columns;           ///< those that it consumes, if it is cut
  LinkRange steps;                 ///< of an analyzer or output: see Step
  const std::string* name{};       ///< label of the module or name of the column
};

/// The beginning of a path: the events that its filters have left, with the last of them named.
/// Paths that begin with the same filters share their gates. Gate 0 has no filter: all events. A
/// union has no filter either: the events that any of several others has left.
struct Gate {
  std::uint32_t parent = none;  ///< the gate before the last filter; smaller than this one's number
  std::uint32_t filter = none;  ///< node
  std::uint32_t filter_mask{};
  std::uint32_t mask{};  ///< the filter's own if the parent is gate 0
  LinkRange children;    ///< gates
  LinkRange unions;      ///< gates that this one is a part of
  LinkRange parts;       ///< of a union: gates
  LinkRange analyzers;   ///< nodes
  LinkRange steps;       ///< see Step

  /// Nothing is behind it.
  [[nodiscard]] bool is_end() const { return children.count + unions.count + analyzers.count == 0; }
};

/// A queue before modules that cannot take every block at once.
struct QueueDescription {
  std::uint32_t limit = 1;  ///< blocks at a time
  bool is_shared{};         ///< by several modules: left while one of them waits
};

/// One call of the serial course of a block, which tries gate after gate, then analyzer after
/// analyzer, then output after output. Each of them has the calls of what it needs, in an order in
/// which makers come before consumers, itself last; without those that were certainly made before.
struct Step {
  std::uint32_t node{};
  bool may_be_called{};  ///< already: by another gate, or because a module has asked
  bool is_noted{};       ///< others want to know that it was called
  bool is_plain{};       ///< neither, and a producer of no columns that does not ask
};

/// A compiled job. Nodes, gates, masks and products are numbered; all lists are pieces of one flat
/// array. Built once, before the fork; afterwards read by all threads.
struct Graph {
  std::vector<Node> nodes;
  std::vector<Gate> gates;                ///< parents before children, then unions
  std::uint32_t first_union{};            ///< number of the first gate that is one
  std::vector<std::uint32_t> gate_order;  ///< gates but 0, each after all that it waits for
  std::vector<std::uint32_t> links;
  std::vector<std::uint32_t> analyzers;  ///< nodes, in the order of their modules
  std::vector<std::uint32_t> outputs;    ///< nodes, in the order of their modules
  std::vector<Product> products;
  std::vector<std::uint32_t> makers;  ///< nodes, by product; none: it is not needed
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
