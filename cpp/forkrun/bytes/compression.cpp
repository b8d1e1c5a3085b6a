#include <forkrun/bytes/compression.hpp>

#include <algorithm>
#include <utility>

#include <Compression.h>

#include <forkrun/core/data/errors.hpp>

namespace forkrun {

namespace {

using Algorithm = ROOT::RCompressionSetting::EAlgorithm;
constexpr std::pair<const char*, int> algorithms[] = {{"zlib", Algorithm::kZLIB},
                                                      {"lzma", Algorithm::kLZMA},
                                                      {"lz4", Algorithm::kLZ4},
                                                      {"zstd", Algorithm::kZSTD}};

}  // namespace

Compression Compression::parse(const std::string& text) {
  if (text == "none") {
    return {Algorithm::kZLIB, 0, true};
  }
  if (text == "auto") {
    constexpr int usual = 5;
    return {Algorithm::kZSTD, usual, false};
  }
  const auto colon = text.find(':');
  const auto digit = colon == std::string::npos ? std::string{} : text.substr(colon + 1);
  for (const auto& [name, algorithm] : algorithms) {
    if (text.substr(0, colon) == name && digit.size() == 1 && digit[0] >= '1' && digit[0] <= '9') {
      return {algorithm, digit[0] - '0', true};
    }
  }
  throw Error("compression \"" + text +
              "\" is not auto, zstd:N, lz4:N, zlib:N, lzma:N (N from 1 to 9) or none");
}

std::string Compression::text() const {
  if (level == 0 || !is_chosen) {
    return level == 0 ? "none" : "auto";
  }
  const auto* const known =
      std::ranges::find(algorithms, algorithm, &std::pair<const char*, int>::second);
  return known->first + (":" + std::to_string(level));
}

bool Compression::has_checksum() const {
  const bool is_zlib = algorithm == Algorithm::kZLIB || algorithm == 0;  // ROOT's old default
  return level > 0 && (is_zlib || algorithm == Algorithm::kLZMA || algorithm == Algorithm::kLZ4);
}

}  // namespace forkrun
