#include <forkrun/core/module/block.hpp>

#include <algorithm>
#include <functional>
#include <string>

#include <forkrun/concurrency/fresh_stack.hpp>
#include <forkrun/core/data/counted.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/run/recorder.hpp>
#include <forkrun/core/schedule/graph.hpp>

namespace forkrun {

namespace {

std::string product_name(const Graph* graph, std::uint32_t product) {
  const bool is_known = graph != nullptr && product < graph->products.size();
  return "product \"" + (is_known ? graph->products[product].name : "?") + "\"";
}

/// Node of the module with this number, or null.
const Node* node_of(const Graph* graph, std::uint32_t module) {
  if (graph == nullptr || module == none) {
    return nullptr;
  }
  const auto found = std::ranges::find(graph->nodes, module, &Node::module);
  return found == graph->nodes.end() ? nullptr : &*found;
}

std::string module_name(const Graph* graph, std::uint32_t module) {
  const auto* const node = node_of(graph, module);
  return node == nullptr ? "a module" : "module \"" + *node->name + "\"";
}

constexpr auto no_handle =
    "a handle is not from Construction: keep the handle that consumes(), may_consume(), "
    "produces() or condition() returns";

/// Calls `body` on a fresh stack, on the same thread of the executor.
bool call_elsewhere(const std::function<void()>& body) {
  auto part = Recorder::part_of_this_thread();
  const bool was_called = call_on_fresh_stack([&] {
    Recorder::set_part_of_this_thread(part);
    body();
    part = Recorder::part_of_this_thread();
  });
  Recorder::set_part_of_this_thread(part);
  return was_called;
}

}  // namespace

void EventBlock::refuse_product(std::uint32_t product) const {
  if (product == none) {
    throw Error{no_handle};
  }
  throw Error{
      product_name(graph_, product) +
      " is used with a handle of another module, and no module makes it: each module declares "
      "its own inputs"};
}

void EventBlock::refuse_condition() {
  throw Error{std::string{no_handle} + "; conditions hold for blocks of a job alone"};
}

void EventBlock::refuse_lumi() const {
  throw ScheduleError{
      {"this block has events of " + counted(lumis_.size(), "lumi") +
       ": ask for the lumi of each event, or for blocks of one lumi, with set_one_lumi()"}};
}

void EventBlock::refuse_wait(std::uint32_t product, std::uint32_t module) const {
  if (product == none || module == none) {
    throw Error{no_handle};
  }
  const auto start = module_name(graph_, module) + " asks for " + product_name(graph_, product);
  const auto* const node = node_of(graph_, module);
  if (node != nullptr && node->is_coroutine) {
    throw Error{start +
                " without co_await: a coroutine does not wait on its thread. Write co_await "
                "block.get(…) in the coroutine itself, with the CoroutineBlock it was called with"};
  }
  throw Error{start +
              " where it cannot wait for it: only the thread that calls its produce(), filter() or "
              "analyze() can, in that call and for its block. Ask there, before threads of the "
              "module's own need the product, or declare it with consumes()"};
}

namespace {

[[noreturn]] void refuse_depth(const Graph& graph, const ModuleCall& call, std::uint32_t product) {
  throw Error{module_name(&graph, call.module) + " asks for " + product_name(&graph, product) +
              " at the end of a chain of modules that wait for each other on the stack, which is "
              "full. Make modules of the chain coroutines (CoroutineProducer), or "
              "declare what they need with consumes()"};
}

}  // namespace

void EventBlock::wait_for(std::uint32_t product, std::uint32_t module) const {
  const auto call = ModuleCall::of_this_thread();
  if (call.block != this || call.module != module || product == none) [[unlikely]] {
    refuse_wait(product, module);
  }
  if (!is_stack_short()) [[likely]] {
    call.fetcher->wait_for(call.node, product);
  } else if (!call_elsewhere([&] { call.fetcher->wait_for(call.node, product); })) {
    refuse_depth(*graph_, call, product);
  }
}

bool EventBlock::ask_for(const ModuleCall& call, std::uint32_t product, std::uint32_t module) {
  if (call.block == nullptr) [[unlikely]] {
    throw Error{
        "a coroutine asks for a product that no module has been called as: produce() or "
        "filter() has to return it"};
  }
  if (call.module != module || product == none) [[unlikely]] {
    call.block->refuse_wait(product, module);
  }
  if (!is_stack_short()) [[likely]] {
    return call.fetcher->ask_for(call.node, product);
  }
  bool is_made = false;
  if (!call_elsewhere([&] { is_made = call.fetcher->ask_for(call.node, product); })) {
    refuse_depth(*call.block->graph_, call, product);
  }
  return is_made;
}

}  // namespace forkrun
