#include <forkrun/python_memory/huge_pages.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <Python.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

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

  /// False for an address outside of these.
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

namespace {

constexpr std::size_t pages_per_huge_page = huge_page_bytes / page_bytes;
constexpr std::ptrdiff_t wanted_pages = pages_per_huge_page * 9 / 10;
constexpr int madv_collapse = 25;  // newer than the C library's headers

struct Range {
  std::uintptr_t first;
  std::uintptr_t last;
};

/// Memory that is mapped for writing and not shared: "7f00-7f40 rw-p 00000000 00:00 0 [heap]". The
/// stack grows, and is left alone.
std::vector<Range> own_memory() {
  std::vector<Range> ranges;
  std::ifstream maps{"/proc/self/maps"};
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields{line};
    Range range{};
    char dash = 0;
    std::string access, offset, device, inode, name;
    fields >> std::hex >> range.first >> dash >> range.last >> access >> offset >> device >> inode;
    fields >> name;
    if (access == "rw-p" && inode == "0" && name != "[stack]") {
      ranges.push_back(range);
    }
  }
  return ranges;
}

/// /proc/self/pagemap: eight bytes for each page, to be read whole.
class PageMap {
 public:
  PageMap() : file_{open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)} {}
  ~PageMap() { close(file_); }
  PageMap(const PageMap&) = delete;
  PageMap& operator=(const PageMap&) = delete;

  /// Whether nearly all pages of a huge page are in memory: joining them fills in the others.
  [[nodiscard]] bool is_in_use(std::uintptr_t first) const {
    constexpr std::uint64_t present = std::uint64_t{1} << 63;
    std::array<std::uint64_t, pages_per_huge_page> entries{};
    const auto place = static_cast<off_t>(first / page_bytes * sizeof(std::uint64_t));
    const auto n_read = pread(file_, entries.data(), sizeof(entries), place);
    const auto n_present =
        std::ranges::count_if(entries, [](auto entry) { return (entry & present) != 0; });
    return n_read == sizeof(entries) && n_present >= wanted_pages;
  }

 private:
  int file_;
};

}  // namespace

std::size_t join_pages() {
  const PageMap pages;
  std::size_t joined = 0;
  for (const auto& range : own_memory()) {
    auto first = huge_page_from(range.first);
    for (; first + huge_page_bytes <= range.last; first += huge_page_bytes) {
      if (pages.is_in_use(first) &&
          madvise(reinterpret_cast<void*>(first), huge_page_bytes, madv_collapse) == 0) {
        joined += huge_page_bytes;
      }
    }
  }
  return joined;
}

}  // namespace forkrun::python_memory
