#include <forkrun/core/run/product_memory.hpp>

#include <algorithm>
#include <cstdlib>
#include <new>

#include <forkrun/concurrency/cache_lines.hpp>

namespace forkrun {

namespace {

/// Products of nodes, in the order of the nodes.
template <typename Body>
void for_each_product(const Graph& graph, const Body& body) {
  for (const auto& node : graph.nodes) {
    for (const auto product : graph.at(node.products)) {
      body(product, *graph.products[product].type);
    }
  }
}

std::size_t round_up(std::size_t n, std::size_t step) { return (n + step - 1) / step * step; }

}  // namespace

void ProductMemory::Free::operator()(std::byte* memory) const { std::free(memory); }

ProductMemory::ProductMemory(const Graph& graph) : graph_{graph}, products_(graph.products.size()) {
  std::vector<std::size_t> places(products_.size());
  std::size_t n_bytes = 0;
  std::size_t alignment = cache_line_pair;
  for_each_product(graph, [&](std::uint32_t product, const ProductType& type) {
    places[product] = round_up(n_bytes, type.alignment);
    n_bytes = places[product] + type.n_bytes;
    alignment = std::max(alignment, type.alignment);
  });
  memory_.reset(
      static_cast<std::byte*>(std::aligned_alloc(alignment, round_up(n_bytes + 1, alignment))));
  if (!memory_) {
    throw std::bad_alloc{};
  }
  try {
    for_each_product(graph, [&](std::uint32_t product, const ProductType& type) {
      type.create(memory_.get() + places[product], type.column);
      products_[product] = memory_.get() + places[product];
    });
  } catch (...) {
    destroy_all();
    throw;
  }
}

ProductMemory::~ProductMemory() { destroy_all(); }

void ProductMemory::destroy_all() {
  for (std::size_t product = 0; product < products_.size(); ++product) {
    if (products_[product] != nullptr) {
      graph_.products[product].type->destroy(products_[product]);
    }
  }
}

}  // namespace forkrun
