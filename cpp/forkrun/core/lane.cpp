#include <forkrun/core/lane.hpp>

#include <time.h>

#include <algorithm>
#include <string>
#include <utility>

#include <forkrun/core/error_context.hpp>
#include <forkrun/core/errors.hpp>

namespace forkrun {

namespace {

constexpr auto relaxed = std::memory_order_relaxed;  // People read the status, nobody acts on it.

/// Coarse: as of the last tick of the kernel, a few nanoseconds to ask for.
std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::vector<void*> make_products(const Graph& graph) {
  std::vector<void*> products(graph.products.size());
  for (std::size_t product = 0; product < products.size(); ++product) {
    if (graph.is_made[product]) {
      const auto& type = *graph.products[product].type;
      products[product] = type.create(type.column);
    }
  }
  return products;
}

std::string describe_range(const BlockToDo& block) {
  return std::to_string(block.lumi.run) + ":" + std::to_string(block.lumi.lumi) + ", entries " +
         std::to_string(block.range.first) + "…" + std::to_string(block.range.last - 1) +
         " of file " + std::to_string(block.range.file);
}

}  // namespace

Lane::Lane(const Graph& graph, std::size_t number, std::unique_ptr<SourceLane> source,
           StatusSlot* status)
    : graph_{graph},
      source_{std::move(source)},
      status_{status},
      products_{make_products(graph)},
      block_{products_, source_.get()},
      n_left_(graph.gates.size()) {
  block_.lane_ = number;
}

Lane::~Lane() {
  for (std::size_t product = 0; product < products_.size(); ++product) {
    if (products_[product] != nullptr) {
      graph_.products[product].type->destroy(products_[product]);
    }
  }
}

void Lane::begin(const BlockToDo& block) {
  block_.lumi_ = block.lumi;
  block_.range_ = block.range;
  block_.sequence_ = block.sequence;
  block_.events_ = {};
}

void Lane::load(const BlockToDo& block) {
  begin(block);
  try {
    block_.events_ = source_->load(block.range, block.lumi);
  } catch (...) {
    n_left_[0] = 0;
    rethrow_with_context("reading failed at " + describe_range(block));
  }
  n_left_[0] = block_.n_events();
  if (block_.n_events() > mask_stride_ || !masks_) {
    make_room_for_masks();
  }
  digest_.add(block.lumi, block_.events());
  if (status_ != nullptr) {
    note_begin();
  }
}

void Lane::skip(const BlockToDo& block) {
  begin(block);
  n_left_[0] = 0;
}

void Lane::make_room_for_masks() {
  mask_stride_ = std::max<std::size_t>(64, (block_.n_events() + 63) / 64 * 64);
  masks_ = std::make_unique<std::uint8_t[]>(graph_.n_masks * mask_stride_);
  std::fill_n(masks_.get(), mask_stride_, std::uint8_t{1});
}

void Lane::note_begin() {
  status_->run.store(block_.lumi_.run, relaxed);
  status_->lumi.store(block_.lumi_.lumi, relaxed);
  if (block_.n_events() != 0) {
    status_->first_event.store(block_.events().front(), relaxed);
    status_->last_event.store(block_.events().back(), relaxed);
  }
  status_->heartbeat_ns.store(now_ns(), relaxed);
}

void Lane::end_block() {
  if (status_ != nullptr) {
    status_->n_events_done.fetch_add(block_.n_events(), relaxed);
    status_->heartbeat_ns.store(now_ns(), relaxed);
  }
}

void Lane::call(const Node& node, Parallel& parallel) {
  try {
    call_unguarded(node, parallel);
  } catch (...) {
    rethrow_with_context(describe_failure(node, block_));
  }
}

void Lane::call_unguarded(const Node& node, Parallel& parallel) {
  switch (node.kind) {
    case NodeKind::source_column:
      source_->read(node.source_column, block_.mutable_column(graph_.at(node.columns)[0]));
      break;
    case NodeKind::producer:
      produce(node);
      break;
    case NodeKind::filter:
      filter(node);
      break;
    case NodeKind::analyzer:
      static_cast<Analyzer*>(node.module)->analyze(block_, mask(node.mask));
      break;
    case NodeKind::output:
      static_cast<OutputModule*>(node.module)->write(block_, mask(node.mask), parallel);
      break;
  }
}

void Lane::produce(const Node& node) {
  for (const auto product : graph_.at(node.columns)) {
    block_.mutable_column(product).forget();
  }
  static_cast<Producer*>(node.module)->produce(block_);
  for (const auto product : graph_.at(node.columns)) {
    check_column(product);
  }
}

/// A column of the wrong size would have others read beyond its end.
void Lane::check_column(std::uint32_t product) const {
  const auto& column = block_.column(product);
  const auto name = [&] { return "product \"" + graph_.products[product].name + "\" "; };
  if (column.n_events() != block_.n_events()) {
    throw Error{name() + "was filled for " + std::to_string(column.n_events()) +
                " events of a block of " + std::to_string(block_.n_events())};
  }
  if (column.type().shape == Shape::scalar) {
    return;
  }
  const auto n_values = static_cast<std::int64_t>(column.n_values());
  const auto offsets = column.offsets();
  if (offsets.front() != 0 || offsets.back() != n_values) {
    throw Error{name() + "has offsets from " + std::to_string(offsets.front()) + " to " +
                std::to_string(offsets.back()) + ", but " + std::to_string(n_values) + " values"};
  }
}

void Lane::filter(const Node& node) {
  const auto accept = mask(node.mask);
  std::ranges::fill(accept, std::uint8_t{1});
  static_cast<Filter*>(node.module)->filter(block_, accept);
  for (auto& accepted : accept) {
    accepted = accepted != 0 ? 1 : 0;
  }
}

bool Lane::pass(std::uint32_t gate_number) {
  const auto& gate = graph_.gates[gate_number];
  const auto left = mask(gate.mask);
  if (gate.parent != 0) {
    const auto before = mask(graph_.gates[gate.parent].mask);
    const auto accepted = mask(graph_.nodes[gate.filter].mask);
    for (std::size_t event = 0; event < left.size(); ++event) {
      left[event] = before[event] & accepted[event];
    }
  }
  std::size_t n_left = 0;
  for (const auto event : left) {
    n_left += event;
  }
  n_left_[gate_number] = n_left;
  return n_left != 0;
}

void Lane::close(std::uint32_t gate) {
  n_left_[gate] = 0;
  if (graph_.gates[gate].parent != 0) {  // Else the mask is the filter's, of a block of no events.
    std::ranges::fill(mask(graph_.gates[gate].mask), std::uint8_t{0});
  }
}

bool Lane::select(const Node& node) {
  const auto gates = graph_.at(node.gates);
  if (gates.size() == 1) {  // The mask is the gate's own.
    return is_open(gates[0]);
  }
  const auto selected = mask(node.mask);
  std::ranges::fill(selected, std::uint8_t{0});
  bool any = false;
  for (const auto gate : gates) {
    if (!is_open(gate)) {
      continue;
    }
    any = true;
    const auto passed = mask(graph_.gates[gate].mask);
    for (std::size_t event = 0; event < selected.size(); ++event) {
      selected[event] |= passed[event];
    }
  }
  return any;
}

EventDigest Lane::take_digest() { return std::exchange(digest_, {}); }

}  // namespace forkrun
