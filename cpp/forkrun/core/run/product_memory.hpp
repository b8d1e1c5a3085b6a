#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <forkrun/core/schedule/graph.hpp>

namespace forkrun {

/// Products of one lane, adjacent in memory in the order in which they are made.
class ProductMemory {
 public:
  explicit ProductMemory(const Graph& graph);
  ~ProductMemory();
  ProductMemory(const ProductMemory&) = delete;
  ProductMemory& operator=(const ProductMemory&) = delete;

  /// By product; null where no node makes it.
  [[nodiscard]] std::span<void* const> products() const { return products_; }

 private:
  void destroy_all();

  const Graph& graph_;
  std::vector<void*> products_;
  struct Free {
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte, Free> memory_;
};

}  // namespace forkrun
