#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

/// Turns random words into values. Only + - * / and sqrt of IEEE double precision are used, in an
/// order that no compiler may change (distributions.cpp is compiled without contraction): the same
/// numbers on every platform, with every standard library.
namespace forkrun::random {

/// One value for all, or one for each value drawn.
template <typename T>
struct Parameter {
  const T* values;
  std::size_t step;  ///< 0: one for all
  [[nodiscard]] T operator[](std::size_t i) const { return values[i * step]; }
  [[nodiscard]] Parameter from(std::size_t i) const { return {values + i * step, step}; }
};

/// All of these take one word per value; `into`: (n_values,), as many as words.
/// low + (high - low) * u, u = (word >> 11) / 2^53 in [0, 1).
void uniform_values(std::span<const std::uint64_t> words, Parameter<double> low,
                    Parameter<double> high, double* into);
/// location + scale * z, z by inversion: Wichura's AS241, with a relative error of about 1e-16, of
/// ((word >> 11) + 1/2) / 2^53. |z| < 8.3
void normal_values(std::span<const std::uint64_t> words, Parameter<double> location,
                   Parameter<double> scale, double* into);
/// -scale * log(((word >> 11) + 1) / 2^53), in [0, 36.8 * scale).
void exponential_values(std::span<const std::uint64_t> words, Parameter<double> scale,
                        double* into);

/// The same for one word.
[[nodiscard]] double uniform_value(std::uint64_t word, double low, double high);
[[nodiscard]] double normal_value(std::uint64_t word, double location, double scale);
[[nodiscard]] double exponential_value(std::uint64_t word, double scale);

/// Integers of [low, high) take one word for at most 2^32 of them, else two. Their probabilities
/// agree to a relative 2^-32, indistinguishable in any job.
[[nodiscard]] inline std::uint64_t n_integers(std::int64_t low, std::int64_t high) {
  return static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
}
[[nodiscard]] inline std::size_t words_per_integer(std::uint64_t n) {
  return n <= std::uint64_t{1} << 32U ? 1 : 2;
}
[[nodiscard]] std::int64_t integer_value(std::uint64_t word, std::int64_t low, std::uint64_t n);
[[nodiscard]] std::int64_t integer_value(std::uint64_t high_word, std::uint64_t low_word,
                                         std::int64_t low, std::uint64_t n);
/// One word each: for at most 2^32 integers.
void integer_values(std::span<const std::uint64_t> words, std::int64_t low, std::uint64_t n,
                    std::int64_t* into);

/// Natural logarithm and exponential function, to a relative 1e-16; x normal and positive, |x| <
/// 700.
[[nodiscard]] double portable_log(double x);
[[nodiscard]] double portable_exp(double x);

}  // namespace forkrun::random
