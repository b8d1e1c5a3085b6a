#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <utility>

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

/// Memory for the frame of a coroutine, reused call after call.
class CoroutineFrame {
 public:
  /// Has the next coroutine called on this thread take its frame from here.
  void offer() { offered_ = this; }

  static void* allocate(std::size_t n_bytes);
  static void free(void* memory) noexcept;

 private:
  static thread_local CoroutineFrame* offered_;
  std::unique_ptr<std::byte[]> memory_;
  std::size_t capacity_{};
};

template <typename Handle>
class Awaited;

/// Result type of a coroutine module. The core begins and resumes it.
class Coroutine {
 public:
  class Promise {
   public:
    static void* operator new(std::size_t n_bytes) { return CoroutineFrame::allocate(n_bytes); }
    static void operator delete(void* memory) noexcept { CoroutineFrame::free(memory); }

    Coroutine get_return_object() {
      return Coroutine{std::coroutine_handle<Promise>::from_promise(*this)};
    }
    [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
    [[nodiscard]] std::suspend_always final_suspend() noexcept {
      *has_ended_ = true;
      return {};
    }
    void return_void() const noexcept {}
    /// Only products: a coroutine waiting for anything else would never be resumed.
    template <typename Handle>
    [[nodiscard]] Awaited<Handle> await_transform(Awaited<Handle> product) const {
      return product;
    }
    void unhandled_exception() noexcept { failure_ = std::current_exception(); }

    [[nodiscard]] const ModuleCall& call() const { return call_; }

   private:
    friend class Coroutine;
    ModuleCall call_{};
    bool* has_ended_{};  ///< on the stack of the resuming caller
    std::exception_ptr failure_;
  };
  using promise_type = Promise;

  Coroutine() = default;
  Coroutine(Coroutine&& other) noexcept : handle_{std::exchange(other.handle_, {})} {}
  Coroutine& operator=(Coroutine&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Coroutine() {
    if (handle_) {
      handle_.destroy();
    }
  }

  /// False for an empty object, not made by a coroutine.
  [[nodiscard]] bool is_valid() const { return static_cast<bool>(handle_); }
  void belongs_to(const ModuleCall& call) { handle_.promise().call_ = call; }

  /// True if the coroutine has ended; else it waits for a product, and may have been resumed by
  /// another thread already: it must not be touched.
  [[nodiscard]] bool resume() {
    bool has_ended = false;
    handle_.promise().has_ended_ = &has_ended;
    handle_.resume();
    return has_ended;
  }

  /// Destroys a coroutine that has ended. \throws its exception
  void end() {
    const auto failure = std::exchange(handle_.promise().failure_, nullptr);
    std::exchange(handle_, {}).destroy();
    if (failure) {
      std::rethrow_exception(failure);
    }
  }

 private:
  explicit Coroutine(std::coroutine_handle<Promise> handle) : handle_{handle} {}
  std::coroutine_handle<Promise> handle_;
};

}  // namespace forkrun
