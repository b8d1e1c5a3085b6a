#pragma once

/// Functions compiled for several kinds of processors; the loader of the library chooses one. The
/// address sanitizer does not know such functions.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__)
#define FORKRUN_CLONES __attribute__((target_clones("avx2", "default"), optimize("O3")))
#define FORKRUN_CLONES_OF_BITS __attribute__((target_clones("bmi2", "default")))
#else
#define FORKRUN_CLONES
#define FORKRUN_CLONES_OF_BITS
#endif

#define FORKRUN_INLINE inline __attribute__((always_inline))
