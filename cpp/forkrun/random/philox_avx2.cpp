// Compiled for processors with AVX2; empty on others.
#ifdef __AVX2__
#include <immintrin.h>

#include <forkrun/random/philox_lanes.hpp>

namespace forkrun::random {

namespace {

struct Avx2Lanes {
  using Vector [[gnu::vector_size(32)]] = unsigned long long;
  [[gnu::always_inline]] static Vector product(Vector a, Vector b) {
    return reinterpret_cast<Vector>(
        _mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
  }
};

}  // namespace

void make_pairs_avx2(const PairsToMake& pairs, std::size_t n_pairs) {
  PhiloxLanes<Avx2Lanes>::make_all(pairs, n_pairs);
}

}  // namespace forkrun::random
#endif
