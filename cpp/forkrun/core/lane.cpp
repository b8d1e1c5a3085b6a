#include <forkrun/core/lane.hpp>

#include <string>
#include <utility>

#include <forkrun/core/errors.hpp>

namespace forkrun {

namespace {

constexpr auto relaxed = std::memory_order_relaxed;  // People read the status, nobody acts on it.

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
      products_{graph},
      block_{products_.products(), source_.get()},
      is_open_(graph.gates.size()),
      masks_{graph.n_masks} {
  block_.lane_ = number;
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
    is_open_[0] = 0;
    rethrow_with_context("reading failed at " + describe_range(block));
  }
  is_open_[0] = block_.n_events() != 0 ? 1 : 0;
  masks_.resize(block_.n_events());
  digest_.add(block.lumi, block_.events());
  if (status_ != nullptr) {
    note_begin();
  }
}

void Lane::skip(const BlockToDo& block) {
  begin(block);
  is_open_[0] = 0;
}

void Lane::note_begin() {
  status_->run.store(block_.lumi_.run, relaxed);
  status_->lumi.store(block_.lumi_.lumi, relaxed);
  if (block_.n_events() != 0) {
    status_->first_event.store(block_.events().front(), relaxed);
    status_->last_event.store(block_.events().back(), relaxed);
  }
}

void Lane::end_block() {
  if (status_ != nullptr) {
    status_->n_events_done.fetch_add(block_.n_events(), relaxed);
    note_heartbeat(*status_);
  }
}

namespace {

/// A column of the wrong size would have others read beyond its end.
void check_column(const Column& column, const std::string& name, std::size_t n_events) {
  if (column.n_events() != n_events) {
    throw Error{"product \"" + name + "\" was filled for " + std::to_string(column.n_events()) +
                " events of a block of " + std::to_string(n_events)};
  }
  if (column.type().shape == Shape::scalar) {
    return;
  }
  const auto n_values = static_cast<std::int64_t>(column.n_values());
  const auto offsets = column.offsets();
  if (offsets.front() != 0 || offsets.back() != n_values) {
    throw Error{"product \"" + name + "\" has offsets from " + std::to_string(offsets.front()) +
                " to " + std::to_string(offsets.back()) + ", but " + std::to_string(n_values) +
                " values"};
  }
}

}  // namespace

void Lane::check_columns(const Node& node) const {
  for (const auto product : graph_.at(node.columns)) {
    check_column(block_.column(product), graph_.products[product].name, block_.n_events());
  }
}

bool Lane::pass(std::uint32_t number) {
  const auto& gate = graph_.gates[number];
  const auto filter_mask = graph_.nodes[gate.filter].mask;
  // Behind gate 0 the mask is the filter's own, used by all gates of this filter: not written here.
  const bool any = gate.parent == 0
                       ? masks_.any(filter_mask)
                       : masks_.set_both(gate.mask, graph_.gates[gate.parent].mask, filter_mask);
  is_open_[number] = any ? 1 : 0;
  return any;
}

void Lane::close(std::uint32_t gate) {
  is_open_[gate] = 0;
  if (graph_.gates[gate].parent != 0) {  // Else the mask is the filter's, of a block of no events.
    masks_.accept_none(graph_.gates[gate].mask);
  }
}

bool Lane::select(const Node& node) {
  const auto gates = graph_.at(node.gates);
  if (gates.size() == 1) {  // The mask is the gate's own.
    return is_open(gates[0]);
  }
  masks_.accept_none(node.mask);
  bool any = false;
  for (const auto gate : gates) {
    if (is_open(gate)) {
      any = true;
      masks_.add(node.mask, graph_.gates[gate].mask);
    }
  }
  return any;
}

EventDigest Lane::take_digest() { return std::exchange(digest_, {}); }

}  // namespace forkrun
