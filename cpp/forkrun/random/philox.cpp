#include <forkrun/random/philox.hpp>
#include <forkrun/random/philox_lanes.hpp>

namespace forkrun::random {

namespace {

using MakePairs = void (*)(const PairsToMake&, std::size_t);

MakePairs fastest() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f")) {
    return make_pairs_avx512;
  }
  if (__builtin_cpu_supports("avx2")) {
    return make_pairs_avx2;
  }
#endif
  return make_pairs_one_by_one;
}

}  // namespace

void make_pairs_one_by_one(const PairsToMake& pairs, std::size_t n_pairs) {
  for (std::size_t i = 0; i < n_pairs; ++i) {
    const auto pair = word_pair(static_cast<std::uint32_t>(pairs.n[i]), pairs.event[i], pairs.lumi,
                                {pairs.key[0], pairs.key[1]});
    pairs.first[i] = pair.first;
    pairs.second[i] = pair.second;
  }
}

void make_pairs(const PairsToMake& pairs, std::size_t n_pairs) {
  static const MakePairs make = fastest();
  make(pairs, n_pairs);
}

}  // namespace forkrun::random
