#include <forkrun/histograms/table_memory.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

#include <forkrun/concurrency/cache_lines.hpp>

namespace forkrun {

constinit thread_local std::size_t claimed_thread_number = 0;

namespace {

/// Numbers of threads. Never destroyed: threads may outlive static objects.
struct Numbers {
  std::mutex mutex{};
  std::vector<bool> is_taken{true};  ///< 0 is no number
};

Numbers& numbers() {
  static auto* const all = new Numbers;
  return *all;
}

/// A thread's number, returned when the thread ends.
class Claim {
 public:
  Claim() {
    auto& [mutex, is_taken] = numbers();
    const std::scoped_lock lock{mutex};
    const auto free = std::ranges::find(is_taken, false);
    number_ = static_cast<std::size_t>(free - is_taken.begin());
    if (free == is_taken.end()) {
      is_taken.push_back(true);
    } else {
      *free = true;
    }
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  ~Claim() {
    auto& [mutex, is_taken] = numbers();
    const std::scoped_lock lock{mutex};
    is_taken[number_] = false;
    claimed_thread_number = 0;
  }
  [[nodiscard]] std::size_t number() const { return number_; }

 private:
  std::size_t number_;
};

}  // namespace

std::size_t claim_thread_number() {
  static thread_local const Claim claim;
  claimed_thread_number = std::min(claim.number(), most_threads + 1);
  return claimed_thread_number;
}

namespace {

constexpr std::size_t large_page = 2 << 20;  // on x86-64; elsewhere only the alignment

std::size_t rounded_up(std::size_t n, std::size_t unit) { return (n + unit - 1) / unit * unit; }

/// Pages that the kernel provides at the first touch. \returns null if it refuses
std::byte* map_large_pages(std::size_t n_bytes) {
  void* const mapped = mmap(nullptr, n_bytes + large_page, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {
    return nullptr;
  }
  auto* const start = static_cast<std::byte*>(mapped);
  const std::size_t n_before = -reinterpret_cast<std::uintptr_t>(start) % large_page;
  std::byte* const aligned = start + n_before;
  if (n_before > 0) {
    munmap(start, n_before);
  }
  if (n_before < large_page) {
    munmap(aligned + n_bytes, large_page - n_before);
  }
  madvise(aligned, n_bytes, MADV_HUGEPAGE);  // if there are none, ordinary pages
  return aligned;
}

}  // namespace

std::shared_ptr<void> zeroed_memory(std::size_t n_bytes) {
  if (n_bytes >= large_page) {
    const std::size_t n_mapped = rounded_up(n_bytes, large_page);
    std::byte* const pages = map_large_pages(n_mapped);
    if (pages == nullptr) {
      throw std::bad_alloc{};
    }
    return {pages, [n_mapped](void* memory) { munmap(memory, n_mapped); }};
  }
  constexpr std::align_val_t alignment{cache_line_pair};
  const std::size_t n_used = rounded_up(n_bytes, cache_line_pair);
  std::shared_ptr<void> memory{::operator new(n_used, alignment),
                               [](void* m) { ::operator delete(m, alignment); }};
  std::memset(memory.get(), 0, n_used);
  return memory;
}

}  // namespace forkrun
