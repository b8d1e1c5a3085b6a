#pragma once

#include <cstdint>
#include <exception>
#include <utility>

namespace forkrun {

/// Interface for waiting for external work.
class ExternalWaiter {
 public:
  virtual ~ExternalWaiter() = default;
  virtual void end_external(std::uint32_t node, std::exception_ptr failure) noexcept = 0;
};

/// Work handed over by a module to something outside: a timer, a device, a server. The outside
/// keeps this object and reports once, from any thread, that the work is done or has failed; an
/// object destroyed without an answer counts as failed.
class ExternalWork {
 public:
  ExternalWork(ExternalWaiter& waiter, std::uint32_t node) : waiter_{&waiter}, node_{node} {}
  ExternalWork(ExternalWork&& other) noexcept
      : waiter_{std::exchange(other.waiter_, nullptr)}, node_{other.node_} {}
  ExternalWork& operator=(ExternalWork&& other) noexcept {
    std::swap(waiter_, other.waiter_);
    std::swap(node_, other.node_);
    return *this;
  }
  ~ExternalWork();

  void done() noexcept { answer(nullptr); }
  void failed(std::exception_ptr failure) noexcept { answer(std::move(failure)); }

 private:
  void answer(std::exception_ptr failure) noexcept {
    if (auto* const waiter = std::exchange(waiter_, nullptr)) {
      waiter->end_external(node_, std::move(failure));
    }
  }

  ExternalWaiter* waiter_;
  std::uint32_t node_;
};

}  // namespace forkrun
