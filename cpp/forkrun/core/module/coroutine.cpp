#include <forkrun/core/module/coroutine.hpp>

#include <new>

namespace forkrun {

namespace {

/// Stands before each frame: whether the frame has its own memory. As large as the strictest
/// alignment.
struct alignas(__STDCPP_DEFAULT_NEW_ALIGNMENT__) FrameHeader {
  bool is_own{};
};

}  // namespace

std::exception_ptr not_made() {
  static const auto failure = std::make_exception_ptr(ProductNotMade{});
  return failure;
}

thread_local CoroutineFrame* CoroutineFrame::offered_ = nullptr;

ModuleCall& ModuleCall::of_this_thread() {
  thread_local ModuleCall call;
  return call;
}

void* CoroutineFrame::allocate(std::size_t n_bytes) {
  const auto n_needed = n_bytes + sizeof(FrameHeader);
  auto* const frame = std::exchange(offered_, nullptr);
  if (frame == nullptr) {  // A coroutine that a module calls itself.
    return new (::operator new(n_needed)) FrameHeader{true} + 1;
  }
  if (frame->capacity_ < n_needed) {
    frame->memory_ = std::make_unique<std::byte[]>(n_needed);
    frame->capacity_ = n_needed;
  }
  return new (frame->memory_.get()) FrameHeader{false} + 1;
}

void CoroutineFrame::free(void* memory) noexcept {
  auto* const header = static_cast<FrameHeader*>(memory) - 1;
  if (header->is_own) {
    ::operator delete(header);
  }
}

}  // namespace forkrun
