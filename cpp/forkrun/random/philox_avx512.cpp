// Compiled for processors with AVX-512; empty on others.
#ifdef __AVX512F__
#include <immintrin.h>

#include <forkrun/random/philox_lanes.hpp>

namespace forkrun::random {

namespace {

struct Avx512Lanes {
  using Vector [[gnu::vector_size(64)]] = unsigned long long;
  [[gnu::always_inline]] static Vector product(Vector a, Vector b) {
    return reinterpret_cast<Vector>(
        _mm512_maskz_mul_epu32(0xff, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
  }
};

}  // namespace

void make_pairs_avx512(const PairsToMake& pairs, std::size_t n_pairs) {
  PhiloxLanes<Avx512Lanes>::make_all(pairs, n_pairs);
}

}  // namespace forkrun::random
#endif
