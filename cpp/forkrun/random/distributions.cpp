#include <forkrun/random/distributions.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

// Loops are compiled for several kinds of processors; the best is chosen when the library is
// loaded, which is too early for the thread sanitizer.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && \
    !defined(__SANITIZE_THREAD__)
#define FORKRUN_VECTORISED [[gnu::target_clones("arch=x86-64-v4", "avx2", "default")]]
#else
#define FORKRUN_VECTORISED
#endif

namespace forkrun::random {

namespace {

constexpr double two_to_minus_53 = 0x1p-53;
constexpr double ln2_high = 0x1.62e42fee00000p-1;  // times an exponent is exact
constexpr double ln2_low = 0x1.a39ef35793c76p-33;

/// The integer word >> 11, exactly, by operations of all vector units.
[[gnu::always_inline]] inline double upper_53_bits(std::uint64_t word) {
  const auto high = std::bit_cast<double>((word >> 43U) | 0x4530000000000000U) - 0x1p84;
  const auto low = std::bit_cast<double>(((word >> 11U) & 0xffffffffU) | 0x4330000000000000U);
  return high + (low - 0x1p52);
}

[[gnu::always_inline]] inline double uniform_of(std::uint64_t word) {
  return upper_53_bits(word) * two_to_minus_53;
}

/// Sum of c[i] * x^i.
template <std::size_t N>
[[gnu::always_inline]] inline double polynomial(const std::array<double, N>& c, double x) {
  double sum = c[N - 1];
#pragma GCC unroll 16
  for (std::size_t i = N - 1; i > 0; --i) {
    sum = sum * x + c[i - 1];
  }
  return sum;
}

/// x = 2^k * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); log(1 + f) = 2 atanh(s), s = f / (2 + f),
/// by its series, arranged so that f, which is exact, is the leading term.
[[gnu::always_inline]] inline double log_of(double x) {
  constexpr std::array<double, 11> series = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,
                                             2.0 / 11, 2.0 / 13, 2.0 / 15, 2.0 / 17,
                                             2.0 / 19, 2.0 / 21, 2.0 / 23};
  constexpr auto root_half = std::bit_cast<std::uint64_t>(0x1.6a09e667f3bcdp-1);
  constexpr auto one = std::bit_cast<std::uint64_t>(1.0);
  const auto shifted = std::bit_cast<std::uint64_t>(x) + (one - root_half);
  const auto k = static_cast<double>(static_cast<std::int32_t>(shifted >> 52U) - 1023);
  const auto f = std::bit_cast<double>((shifted & 0xfffffffffffffU) + root_half) - 1.0;
  const auto s = f / (2.0 + f);
  const auto z = s * s;
  const auto half_square = 0.5 * f * f;
  const auto rest = s * (half_square + z * polynomial(series, z));
  return k * ln2_high - ((half_square - (rest + k * ln2_low)) - f);
}

// The coefficients of M. J. Wichura, "Algorithm AS 241: The Percentage Points of the Normal
// Distribution", Applied Statistics 37 (1988) 477, PPND16.
constexpr std::array<double, 8> central_numerator = {
    3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
    1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
    3.3430575583588128105e4, 2.5090809287301226727e3};
constexpr std::array<double, 8> central_denominator = {1.0,
                                                       4.2313330701600911252e1,
                                                       6.8718700749205790830e2,
                                                       5.3941960214247511077e3,
                                                       2.1213794301586595867e4,
                                                       3.9307895800092710610e4,
                                                       2.8729085735721942674e4,
                                                       5.2264952788528545610e3};
constexpr std::array<double, 8> tail_numerator = {
    1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
    3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
    2.27238449892691845833e-2, 7.74545014278341407640e-4};
constexpr std::array<double, 8> tail_denominator = {1.0,
                                                    2.05319162663775882187e0,
                                                    1.67638483018380384940e0,
                                                    6.89767334985100004550e-1,
                                                    1.48103976427480074590e-1,
                                                    1.51986665636164571966e-2,
                                                    5.47593808499534494600e-4,
                                                    1.05075007164441684324e-9};
constexpr std::array<double, 8> far_numerator = {
    6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
    2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
    2.71155556874348757815e-5, 2.01033439929228813265e-7};
constexpr std::array<double, 8> far_denominator = {1.0,
                                                   5.99832206555887937690e-1,
                                                   1.36929880922735805310e-1,
                                                   1.48753612908506148525e-2,
                                                   7.86869131145613259100e-4,
                                                   1.84631831751005468180e-5,
                                                   1.42151175831644588870e-7,
                                                   2.04426310338993978564e-15};
constexpr double central_edge = 0.425;

/// ((word >> 11) + 1/2) / 2^53 - 1/2, exactly.
[[gnu::always_inline]] inline double centred(std::uint64_t word) {
  return (upper_53_bits(word) - 0x1p52 + 0.5) * two_to_minus_53;
}

[[gnu::always_inline]] inline double central_normal(double q) {
  const auto r = central_edge * central_edge - q * q;
  return q * polynomial(central_numerator, r) / polynomial(central_denominator, r);
}

/// Standard normal value in a tail of probability 1/2 - |q|.
[[gnu::always_inline]] inline double tail_normal(double q) {
  const auto r = std::sqrt(-log_of(0.5 - std::abs(q)));
  const auto near = r - 1.6;
  const auto far = r - 5.0;
  const auto z = r <= 5.0 ? polynomial(tail_numerator, near) / polynomial(tail_denominator, near)
                          : polynomial(far_numerator, far) / polynomial(far_denominator, far);
  return std::copysign(z, q);
}

[[gnu::always_inline]] inline double normal_of(double q) {
  return std::abs(q) <= central_edge ? central_normal(q) : tail_normal(q);
}

[[gnu::always_inline]] inline double exponential_of(std::uint64_t word) {
  return -log_of((upper_53_bits(word) + 1.0) * two_to_minus_53);
}

[[gnu::always_inline]] inline std::int64_t integer_of(std::uint64_t word, std::int64_t low,
                                                      std::uint64_t n) {
  const auto product = (word >> 32U) * n + (((word & 0xffffffffU) * n) >> 32U);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + (product >> 32U));
}

constexpr std::size_t normal_chunk = 256;

/// Standard normal values of at most `normal_chunk` words: all as if they were central, then the
/// tails again, gathered first, so that no loop has branches.
FORKRUN_VECTORISED void standard_normal(const std::uint64_t* words, std::size_t n, double* into) {
  std::array<double, normal_chunk> tails;
  std::array<std::uint32_t, normal_chunk> places;
  for (std::size_t i = 0; i < n; ++i) {
    into[i] = central_normal(centred(words[i]));
  }
  std::size_t n_tails = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto q = centred(words[i]);
    places[n_tails] = static_cast<std::uint32_t>(i);
    tails[n_tails] = q;
    n_tails += std::abs(q) > central_edge ? 1 : 0;
  }
  for (std::size_t i = 0; i < n_tails; ++i) {
    tails[i] = tail_normal(tails[i]);
  }
  for (std::size_t i = 0; i < n_tails; ++i) {
    into[places[i]] = tails[i];
  }
}

FORKRUN_VECTORISED void standard_uniform(const std::uint64_t* words, std::size_t n, double* into) {
  for (std::size_t i = 0; i < n; ++i) {
    into[i] = uniform_of(words[i]);
  }
}

FORKRUN_VECTORISED void standard_exponential(const std::uint64_t* words, std::size_t n,
                                             double* into) {
  for (std::size_t i = 0; i < n; ++i) {
    into[i] = exponential_of(words[i]);
  }
}

FORKRUN_VECTORISED void integers(const std::uint64_t* words, std::size_t n_words, std::int64_t low,
                                 std::uint64_t n, std::int64_t* into) {
  for (std::size_t i = 0; i < n_words; ++i) {
    into[i] = integer_of(words[i], low, n);
  }
}

/// Calls use(i, p, q) with the parameters of value i: in two loops, because a loop with constant
/// parameters becomes vector instructions.
template <typename Use>
void for_parameters(Parameter<double> first, Parameter<double> second, std::size_t n, Use use) {
  if (first.step == 0 && second.step == 0) {
    const double p = first[0];
    const double q = second[0];
    for (std::size_t i = 0; i < n; ++i) {
      use(i, p, q);
    }
    return;
  }
  for (std::size_t i = 0; i < n; ++i) {
    use(i, first[i], second[i]);
  }
}

}  // namespace

void uniform_values(std::span<const std::uint64_t> words, Parameter<double> low,
                    Parameter<double> high, double* into) {
  standard_uniform(words.data(), words.size(), into);
  for_parameters(low, high, words.size(),
                 [into](std::size_t i, double p, double q) { into[i] = p + (q - p) * into[i]; });
}

void normal_values(std::span<const std::uint64_t> words, Parameter<double> location,
                   Parameter<double> scale, double* into) {
  for (std::size_t at = 0; at < words.size(); at += normal_chunk) {
    const auto n = std::min(normal_chunk, words.size() - at);
    standard_normal(words.data() + at, n, into + at);
  }
  for_parameters(location, scale, words.size(),
                 [into](std::size_t i, double p, double q) { into[i] = p + q * into[i]; });
}

void exponential_values(std::span<const std::uint64_t> words, Parameter<double> scale,
                        double* into) {
  standard_exponential(words.data(), words.size(), into);
  for_parameters(scale, scale, words.size(),
                 [into](std::size_t i, double p, double) { into[i] = p * into[i]; });
}

void integer_values(std::span<const std::uint64_t> words, std::int64_t low, std::uint64_t n,
                    std::int64_t* into) {
  integers(words.data(), words.size(), low, n, into);
}

double uniform_value(std::uint64_t word, double low, double high) {
  return low + (high - low) * uniform_of(word);
}

double normal_value(std::uint64_t word, double location, double scale) {
  return location + scale * normal_of(centred(word));
}

double exponential_value(std::uint64_t word, double scale) { return scale * exponential_of(word); }

std::int64_t integer_value(std::uint64_t word, std::int64_t low, std::uint64_t n) {
  return integer_of(word, low, n);
}

std::int64_t integer_value(std::uint64_t high_word, std::uint64_t low_word, std::int64_t low,
                           std::uint64_t n) {
  __extension__ using Wide = unsigned __int128;
  const auto product =
      Wide{high_word} * n + static_cast<std::uint64_t>((Wide{low_word} * n) >> 64U);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) +
                                   static_cast<std::uint64_t>(product >> 64U));
}

double portable_log(double x) { return log_of(x); }

/// x = k * ln(2) + r with |r| <= ln(2) / 2; exp(r) by its series.
double portable_exp(double x) {
  constexpr double log2_e = 0x1.71547652b82fep+0;
  const auto k = std::floor(x * log2_e + 0.5);
  const auto r = (x - k * ln2_high) - k * ln2_low;
  double sum = 1.0;
  for (int n = 14; n > 0; --n) {
    sum = 1.0 + sum * r / n;
  }
  const auto exponent = static_cast<std::uint64_t>(static_cast<std::int64_t>(k) + 1023);
  return sum * std::bit_cast<double>(exponent << 52U);
}

}  // namespace forkrun::random
