#pragma once

#include <cstddef>

// A function whose loops are compiled twice: the version for the processor is chosen when the
// library is loaded, which is too early for sanitizers.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define FORKRUN_VECTORISED [[gnu::target_clones("avx2", "default")]]
#else
#define FORKRUN_VECTORISED
#endif

namespace forkrun {

/// Number of entries ahead for which the cells are prefetched.
constexpr std::size_t prefetch_distance = 16;

}  // namespace forkrun
