#include <forkrun/core/run/lumi_pieces.hpp>

#include <algorithm>

namespace forkrun {

LumiPieces::LumiPieces(const Graph& graph, const Node& node)
    : graph_{graph},
      consumed_{node.cut_columns},
      made_{node.columns},
      products_(graph.products.size()),
      piece_{products_, nullptr} {
  columns_.reserve(consumed_.count + made_.count);
  for (const auto range : {consumed_, made_}) {
    for (const auto product : graph.at(range)) {
      columns_.emplace_back(graph.products[product].type->column);
      products_[product] = &columns_.back();
    }
  }
}

void LumiPieces::begin(const EventBlock& block) {
  piece_.graph_ = block.graph_;
  piece_.source_ = block.source_;
  piece_.iov_ = block.iov_;
  piece_.conditions_ = block.conditions_;
  piece_.sequence_ = block.sequence_;
  piece_.lane_ = block.lane_;
  first_ = last_ = 0;
  range_ = 0;
  n_taken_ = 0;
}

bool LumiPieces::next(const EventBlock& block) {
  first_ = last_;
  if (first_ == block.n_events()) {
    return false;
  }
  const auto span = block.lumis().span_at(first_);
  last_ = span.last;
  piece_.lumis_ = span.lumi;
  piece_.events_ = block.events_.subspan(first_, last_ - first_);
  take_ranges(block);
  for (const auto product : graph_.at(consumed_)) {
    auto& column = piece_.mutable_column(product);
    column.forget();
    column.append(block.column(product), first_, last_);
  }
  return true;
}

void LumiPieces::take_ranges(const EventBlock& block) {
  ranges_.clear();
  for (auto n_left = static_cast<std::int64_t>(last_ - first_); n_left > 0;) {
    const auto [file, first, last] = block.ranges_[range_];
    const auto begin = first + n_taken_;
    const auto n = std::min(n_left, last - begin);
    if (n > 0) {
      ranges_.push_back({file, begin, begin + n});
    }
    n_left -= n;
    n_taken_ += n;
    if (begin + n == last) {
      ++range_;
      n_taken_ = 0;
    }
  }
  piece_.ranges_ = ranges_;
}

void LumiPieces::join(const EventBlock& block) const {
  for (const auto product : graph_.at(made_)) {
    block.mutable_column(product).append(piece_.column(product), 0, piece_.n_events());
  }
}

std::vector<std::unique_ptr<LumiPieces>> make_pieces(const Graph& graph) {
  std::vector<std::unique_ptr<LumiPieces>> pieces;
  pieces.reserve(graph.nodes.size());
  for (const auto& node : graph.nodes) {
    pieces.push_back(node.is_cut ? std::make_unique<LumiPieces>(graph, node) : nullptr);
  }
  return pieces;
}

}  // namespace forkrun
