#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <limits>

#include <forkrun/core/data/errors.hpp>

namespace forkrun {

/// No product, module, node, …
inline constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

/// Thrown to a module that requests a product during its call, when that was not made: the block is
/// lost already. Not to be caught, except to clean up.
class ProductNotMade : public Error {
 public:
  ProductNotMade() : Error{"a product that it asked for was not made"} {}
};

/// The exception for it, always the same object.
[[nodiscard]] std::exception_ptr not_made();

/// Makes products for running modules. `asker`: number of the requesting node.
class ProductFetcher {
 public:
  virtual ~ProductFetcher() = default;
  /// Returns when the product has been made; executes other tasks meanwhile. \throws ProductNotMade
  virtual void wait_for(std::uint32_t asker, std::uint32_t product) = 0;
  /// True if there is nothing to wait for. Else the asker, a coroutine, is resumed later.
  [[nodiscard]] virtual bool ask_for(std::uint32_t asker, std::uint32_t product) = 0;
  /// \throws ProductNotMade
  virtual void check_made(std::uint32_t product) const = 0;
};

class EventBlock;

/// The call of a module: its means to request products, its numbers, and its block.
struct ModuleCall {
  ProductFetcher* fetcher{};
  std::uint32_t node = none;
  std::uint32_t module = none;
  const EventBlock* block{};

  /// Call of this thread: of the innermost module that may wait for products.
  [[nodiscard]] static ModuleCall& of_this_thread();
};

}  // namespace forkrun
