#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <limits>

#include <forkrun/core/data/errors.hpp>

namespace forkrun {

/// No product, module, node, …
inline constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

/// What a module that asks for a product while it runs gets instead, when that was not made: the
/// block is lost already. Not to be caught, except to clean up.
class ProductNotMade : public Error {
 public:
  ProductNotMade() : Error{"a product that it asked for was not made"} {}
};

/// Such an exception, always the same.
[[nodiscard]] std::exception_ptr not_made();

/// Makes products for modules that run. `asker`: number of the node that asks.
class ProductFetcher {
 public:
  virtual ~ProductFetcher() = default;
  /// Returns when the product has been made; other tasks are executed meanwhile.
  /// \throws ProductNotMade
  virtual void wait_for(std::uint32_t asker, std::uint32_t product) = 0;
  /// True if there is nothing to wait for. Else the asker, a coroutine, is resumed in the end.
  [[nodiscard]] virtual bool ask_for(std::uint32_t asker, std::uint32_t product) = 0;
  /// \throws ProductNotMade
  virtual void check_made(std::uint32_t product) const = 0;
};

class EventBlock;

/// A module that is being called: how it asks for products, with which of its numbers, and for
/// which block.
struct ModuleCall {
  ProductFetcher* fetcher{};
  std::uint32_t node = none;
  std::uint32_t module = none;
  const EventBlock* block{};

  /// The calling thread's: that of the module called last which may wait for products.
  [[nodiscard]] static ModuleCall& of_this_thread();
};

}  // namespace forkrun
