#include <forkrun/python_memory/huge_arenas.hpp>

#include <Python.h>

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <forkrun/python_memory/page_sizes.hpp>

namespace forkrun::python_memory {

namespace {

constexpr std::size_t arena_bytes = std::size_t{1} << 20;
constexpr std::size_t chunk_bytes = std::size_t{64} << 20;

/// Address space for arenas, in chunks; memory only where it is used.
class HugeArenas {
 public:
  void* take() {
    if (free_.empty()) {
      add_chunk();
    }
    if (free_.empty()) {
      return nullptr;
    }
    void* arena = free_.back();
    free_.pop_back();
    return arena;
  }

  /// False if it is not one of these.
  bool give_back(void* arena) {
    const auto address = reinterpret_cast<std::uintptr_t>(arena);
    for (const auto chunk : chunks_) {
      if (address >= chunk && address < chunk + chunk_bytes) {
        madvise(arena, arena_bytes, MADV_DONTNEED);
        free_.push_back(arena);
        return true;
      }
    }
    return false;
  }

 private:
  void add_chunk() {
    void* mapped = mmap(nullptr, chunk_bytes + huge_page_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) {
      return;
    }
    const auto first = huge_page_from(reinterpret_cast<std::uintptr_t>(mapped));
    madvise(reinterpret_cast<void*>(first), chunk_bytes, MADV_HUGEPAGE);
    chunks_.push_back(first);
    for (auto arena = first + chunk_bytes; arena > first; arena -= arena_bytes) {
      free_.push_back(reinterpret_cast<void*>(arena - arena_bytes));
    }
  }

  std::vector<std::uintptr_t> chunks_;
  std::vector<void*> free_;
};

struct State {
  PyObjectArenaAllocator ordinary{};
  HugeArenas huge;
  bool is_on = false;
};

void* allocate(void* context, std::size_t size) {
  auto& state = *static_cast<State*>(context);
  void* arena = state.is_on && size == arena_bytes ? state.huge.take() : nullptr;
  return arena != nullptr ? arena : state.ordinary.alloc(state.ordinary.ctx, size);
}

void release(void* context, void* arena, std::size_t size) {
  auto& state = *static_cast<State*>(context);
  if (!state.huge.give_back(arena)) {
    state.ordinary.free(state.ordinary.ctx, arena, size);
  }
}

/// Lives as long as the interpreter, which frees arenas at its end.
State& installed() {
  static State& state = []() -> State& {
    auto* made = new State;
    PyObject_GetArenaAllocator(&made->ordinary);
    PyObjectArenaAllocator ours{made, &allocate, &release};
    PyObject_SetArenaAllocator(&ours);
    return *made;
  }();
  return state;
}

}  // namespace

void use_huge_arenas() { installed().is_on = true; }

void use_ordinary_arenas() { installed().is_on = false; }

}  // namespace forkrun::python_memory
