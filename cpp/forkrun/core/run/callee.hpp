#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <forkrun/core/module/coroutine.hpp>
#include <forkrun/core/module/module.hpp>
#include <forkrun/core/schedule/graph.hpp>

namespace forkrun {

enum class CalleeKind : std::uint8_t {
  source_column,
  producer,
  filter,
  analyzer,
  output,
  plain_producer,  ///< a producer with products other than columns
  asking,          ///< such a producer that may wait for products
  coroutine,       ///< such a producer that waits without a thread
  cut,             ///< a producer, filter or analyzer that sees one lumi at a time
};

/// Data for calling a node: all in half a cache line.
struct Callee {
  Module* module{};  ///< the lane's own, for one object per block
  LinkRange columns;
  std::uint32_t mask = none;
  std::uint32_t left = 0;
  std::uint32_t source_column = none;
  CalleeKind kind{};
  NodeKind node_kind{};

  /// The module's interface for external work, null if it has none; slow.
  [[nodiscard]] External* external() const { return dynamic_cast<External*>(module); }
};

/// Callees by node, for the lane with this number.
[[nodiscard]] std::vector<Callee> make_callees(const Graph& graph, std::size_t lane);

/// Coroutines of a lane: at most one per node at a time.
class Coroutines {
 public:
  explicit Coroutines(const Graph& graph);

  /// Keeps the frame of the coroutine that is called next.
  void offer_frame(std::uint32_t node) { places_[place_of_[node]].frame.offer(); }
  [[nodiscard]] Coroutine& operator[](std::uint32_t node) {
    return places_[place_of_[node]].coroutine;
  }
  /// Whether the coroutine is waiting.
  [[nodiscard]] bool& has_begun(std::uint32_t node) { return places_[place_of_[node]].has_begun; }

 private:
  struct Place {
    CoroutineFrame frame;
    Coroutine coroutine;  ///< destroyed before its frame
    bool has_begun{};
  };
  std::vector<std::uint32_t> place_of_;  ///< by node
  std::vector<Place> places_;
};

}  // namespace forkrun
