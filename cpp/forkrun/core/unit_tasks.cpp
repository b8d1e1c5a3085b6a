#include <forkrun/core/unit_tasks.hpp>

#include <utility>

namespace forkrun {

namespace {

std::uint32_t count_path_ends(const Graph& graph) {
  auto n_ends = static_cast<std::uint32_t>(graph.analyzers.size());
  for (const auto& gate : graph.gates) {
    n_ends += gate.children.count + gate.analyzers.count == 0 ? 1 : 0;
  }
  return n_ends;
}

}  // namespace

UnitTasks::UnitTasks(const Graph& graph, std::size_t n_lanes, Parallel& parallel)
    : graph_{graph}, parallel_{parallel}, n_path_ends_{count_path_ends(graph)} {
  for (const auto& node : graph.nodes) {
    SerialTaskQueue* queue = nullptr;
    if (node.concurrency == Concurrency::unsafe) {
      queue = &unsafe_queue_;
    } else if (node.concurrency == Concurrency::one && !node.in_order) {
      queue = own_queues_.emplace_back(std::make_unique<SerialTaskQueue>()).get();
    }
    queues_.push_back(queue);
    orders_.push_back(node.in_order ? std::make_unique<OrderedTaskQueue>(n_lanes) : nullptr);
  }
}

void UnitTasks::begin(LumiId lumi, std::span<const EntryRange> blocks) {
  lumi_ = lumi;
  blocks_ = blocks;
  next_block_ = 0;
  has_failed_ = false;
  failure_ = nullptr;
  for (const auto& order : orders_) {
    if (order) {
      order->reset();
    }
  }
}

std::optional<BlockToDo> UnitTasks::next_block() {
  if (has_failed()) {
    return std::nullopt;
  }
  // A block once taken must take its course: others may wait for its turn.
  const auto sequence = next_block_.fetch_add(1, std::memory_order_relaxed);
  if (sequence >= blocks_.size()) {
    return std::nullopt;
  }
  return BlockToDo{lumi_, blocks_[sequence], sequence};
}

void UnitTasks::fail(std::uint64_t sequence, std::exception_ptr failure) {
  const std::scoped_lock lock{failure_mutex_};
  if (!failure_ || sequence < failed_sequence_) {
    failed_sequence_ = sequence;
    failure_ = std::move(failure);
  }
  has_failed_ = true;
}

void UnitTasks::rethrow_failure() {
  if (failure_) {
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }
}

}  // namespace forkrun
