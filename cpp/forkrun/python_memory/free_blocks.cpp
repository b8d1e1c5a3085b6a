#include <forkrun/python_memory/free_blocks.hpp>

#include <Python.h>

#include <dlfcn.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include <forkrun/python_memory/page_sizes.hpp>

namespace forkrun::python_memory {

namespace {

// Constants of CPython's obmalloc.c on 64 bits, from 3.10 on.
constexpr std::size_t pool_bytes = 16384;
constexpr std::size_t pool_header_bytes = 48;
constexpr std::size_t alignment_bytes = 16;
constexpr std::size_t largest_block_bytes = 512;

/// More than this cannot be free within the process's memory, wherever an unexpected allocator
/// places blocks: one with guards around each, like PYTHONMALLOC=debug, or a preloaded one.
class Bound {
 public:
  explicit Bound(std::size_t most_bytes) : left_{most_bytes} {}
  /// Whether so much more may be taken.
  bool allows(std::size_t size) {
    if (size > left_) {
      return false;
    }
    left_ -= size;
    return true;
  }

 private:
  std::size_t left_;
};

std::size_t resident_bytes() {
  std::ifstream file{"/proc/self/statm"};
  std::size_t pages = 0;
  std::size_t resident = 0;
  file >> pages >> resident;
  return resident * page_bytes;
}

/// Python's own allocator, without guards around blocks. Its name is private in all versions.
bool is_plain_pymalloc() {
  using Name = const char* (*)();
  const auto name = reinterpret_cast<Name>(::dlsym(RTLD_DEFAULT, "_PyMem_GetCurrentAllocatorName"));
  const auto* text = name != nullptr ? name() : nullptr;
  return text == nullptr || std::strcmp(text, "pymalloc") == 0;
}

bool is_known_allocator() {
#if defined(Py_GIL_DISABLED) || PY_VERSION_HEX >= 0x030F0000
  return false;
#else
  PyMemAllocatorEx objects{};
  PyMemAllocatorEx raw{};
  PyMem_GetAllocator(PYMEM_DOMAIN_OBJ, &objects);
  PyMem_GetAllocator(PYMEM_DOMAIN_RAW, &raw);
  return sizeof(void*) == 8 && objects.malloc != raw.malloc && is_plain_pymalloc();
#endif
}

/// Pools with free blocks are used up before a new one is begun; so when all blocks of one pool
/// have come in a row, no other has a free one.
std::size_t take_blocks_of(std::size_t size, Bound& bound) {
  const auto per_pool = (pool_bytes - pool_header_bytes) / size;
  std::uintptr_t pool = 0;
  std::size_t in_a_row = 0;
  std::size_t taken = 0;
  while (in_a_row < per_pool && bound.allows(size)) {
    const auto block = reinterpret_cast<std::uintptr_t>(PyObject_Malloc(size));
    in_a_row = block / pool_bytes == pool ? in_a_row + 1 : 1;
    pool = block / pool_bytes;
    taken += size;
  }
  return taken;
}

/// Blocks before the end of the heap were free within it; others have grown it, or come from
/// elsewhere.
std::size_t take_chunks_of(std::size_t size, std::uintptr_t end, Bound& bound) {
  std::size_t taken = 0;
  while (bound.allows(size)) {
    auto* const chunk = std::malloc(size);
    if (reinterpret_cast<std::uintptr_t>(chunk) >= end) {
      std::free(chunk);
      break;
    }
    taken += size;
  }
  return taken;
}

/// Takes free blocks between the chunks of the C library's heap, larger ones first: a smaller size
/// takes their remainders. The heap has been trimmed, so almost nothing is free at its end.
std::size_t take_free_chunks() {
  constexpr std::size_t largest = 65536;  // less than what `malloc` maps
  constexpr std::size_t in_bins_of_its_own = 1024;
  const auto end = reinterpret_cast<std::uintptr_t>(::sbrk(0));
  Bound bound{resident_bytes()};
  std::size_t taken = 0;
  for (auto size = largest; size >= in_bins_of_its_own; size = size * 7 / 8) {
    taken += take_chunks_of(size, end, bound);
  }
  for (auto size = in_bins_of_its_own; size > 0; size -= alignment_bytes) {
    taken += take_chunks_of(size - sizeof(void*), end, bound);
  }
  return taken;
}

}  // namespace

std::size_t take_free_blocks() {
  std::size_t taken = take_free_chunks();
  if (is_known_allocator()) {
    Bound bound{resident_bytes()};
    for (auto size = alignment_bytes; size <= largest_block_bytes; size += alignment_bytes) {
      taken += take_blocks_of(size, bound);
    }
  }
  return taken;
}

void trim_heap() { malloc_trim(0); }

void keep_freed_memory() {
  constexpr int largest = 64 << 20, kept = 128 << 20;
  mallopt(M_MMAP_THRESHOLD, largest);
  mallopt(M_TRIM_THRESHOLD, kept);
}

}  // namespace forkrun::python_memory
