#include <forkrun/bytes/zip.hpp>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <utility>

#include <Compression.h>
#include <RZip.h>

#include <forkrun/bytes/decoded_blocks.hpp>
#include <forkrun/bytes/inflate.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/data/input_cost.hpp>

// ROOT makes a new context of the Zstandard library for every basket, which costs as much as
// uncompressing a small one. If ROOT's library can be reached (these few functions of its stable
// interface), one context per thread serves for all; otherwise ROOT's own functions do.
extern "C" {
struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;
__attribute__((weak)) ZSTD_CCtx_s* ZSTD_createCCtx(void);
__attribute__((weak)) std::size_t ZSTD_freeCCtx(ZSTD_CCtx_s*);
__attribute__((weak)) std::size_t ZSTD_CCtx_setParameter(ZSTD_CCtx_s*, int, int);
__attribute__((weak)) std::size_t ZSTD_compress2(ZSTD_CCtx_s*, void*, std::size_t, const void*,
                                                 std::size_t);
__attribute__((weak)) ZSTD_DCtx_s* ZSTD_createDCtx(void);
__attribute__((weak)) std::size_t ZSTD_freeDCtx(ZSTD_DCtx_s*);
__attribute__((weak)) std::size_t ZSTD_decompressDCtx(ZSTD_DCtx_s*, void*, std::size_t, const void*,
                                                      std::size_t);
__attribute__((weak)) unsigned ZSTD_isError(std::size_t);
}

namespace forkrun {

namespace {

// A block begins with two letters for the algorithm, its method, and its sizes in three bytes each,
// the lowest first.
constexpr std::size_t header_size = 9;
constexpr std::size_t max_block = 0xffffff;

unsigned char* unsigned_bytes(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }
const unsigned char* unsigned_bytes(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}

bool has_zstd() {
  return ZSTD_createCCtx != nullptr && ZSTD_CCtx_setParameter != nullptr &&
         ZSTD_compress2 != nullptr && ZSTD_freeCCtx != nullptr && ZSTD_createDCtx != nullptr &&
         ZSTD_decompressDCtx != nullptr && ZSTD_freeDCtx != nullptr && ZSTD_isError != nullptr;
}

struct FreeContext {
  void operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx_s* context) const { ZSTD_freeDCtx(context); }
};

struct Block {
  std::size_t n_from;
  std::size_t n_into;
};

std::size_t size_at(std::span<const std::byte> from, std::size_t at) {
  std::size_t size = 0;
  for (std::size_t i = 3; i > 0; --i) {
    size = (size << 8U) | std::to_integer<std::size_t>(from[at + i - 1]);
  }
  return size;
}

/// Bytes before the compressed data; 0 for an unknown algorithm. LZ4 has a checksum there.
std::size_t head_size(std::span<const std::byte> block) {
  const std::string_view name{reinterpret_cast<const char*>(block.data()), 2};
  constexpr std::size_t checksum_size = 8;
  if (name == "L4") {
    return header_size + checksum_size;
  }
  return name == "ZL" || name == "ZS" || name == "XZ" || name == "CS" ? header_size : 0;
}

/// The head of the first block of `from`. \throws Error
Block parse_block(std::span<const std::byte> from, std::size_t n_room) {
  if (from.size() < header_size) {
    throw Error("a basket is damaged: its compressed data are cut short");
  }
  const auto n_head = head_size(from);
  const Block block{header_size + size_at(from, 3), size_at(from, 6)};
  if (n_head == 0 || block.n_from <= n_head || block.n_from > from.size() || block.n_into == 0 ||
      block.n_into > n_room || block.n_into / largest_ratio > block.n_from) {
    throw Error("a basket is damaged: its compressed data do not fit its size");
  }
  return block;
}

/// Whether the first of some compressed blocks is zlib's, as written by ROOT.
bool is_zlib(std::span<const std::byte> from) {
  constexpr std::byte deflated{8};  // an older form of ROOT's own has another method
  return from.size() > header_size && from[0] == std::byte{'Z'} && from[1] == std::byte{'L'} &&
         from[2] == deflated;
}

bool is_zstd(std::span<const std::byte> block) {
  return block[0] == std::byte{'Z'} && block[1] == std::byte{'S'};
}

/// Uncompresses one block; returns whether it filled `into`.
bool unzip_zstd(std::span<const std::byte> from, std::span<std::byte> into) {
  thread_local const std::unique_ptr<ZSTD_DCtx_s, FreeContext> context{ZSTD_createDCtx()};
  const auto payload = from.subspan(header_size);
  return ZSTD_decompressDCtx(context.get(), into.data(), into.size(), payload.data(),
                             payload.size()) == into.size();
}

bool unzip_by_root(std::span<const std::byte> from, std::span<std::byte> into) {
  int n_from = static_cast<int>(from.size());
  int n_into = static_cast<int>(into.size());
  int n_done = 0;
  R__unzip(&n_from, unsigned_bytes(from.data()), &n_into, unsigned_bytes(into.data()), &n_done);
  return n_done == n_into;
}

/// LZMA, and ROOT's old codec, take much longer than a disk.
bool is_slow(std::span<const std::byte> block) {
  return block[0] == std::byte{'X'} || block[0] == std::byte{'C'};
}

bool unzip_once(std::span<const std::byte> block, std::span<std::byte> into) {
  auto* const decoded = DecodedBlocks::of_job();
  if (decoded != nullptr && decoded->take(block, into)) {
    return true;
  }
  const bool is_done = unzip_by_root(block, into);
  if (is_done && decoded != nullptr) {
    decoded->keep(block, into);
  }
  return is_done;
}

/// Whether a block filled `into`.
bool unzip_block(std::span<const std::byte> block, std::span<std::byte> into) {
  if (is_zstd(block) && has_zstd()) {
    return unzip_zstd(block, into);
  }
  if (is_slow(block)) {
    return unzip_once(block, into);
  }
  return (is_zlib(block) && inflate({block.subspan(header_size), into})) ||
         unzip_by_root(block, into);
}

void put_size(std::byte* to, std::size_t size) {
  for (int i = 0; i < 3; ++i) {
    to[i] = static_cast<std::byte>(size >> (8 * i));
  }
}

/// Numbers of parameters in the library's stable interface.
enum class Parameter {
  level = 100,
  window_log = 101,
  hash_log = 102,
  chain_log = 103,
  search_log = 104,
  min_match = 105,
  strategy = 107
};

/// Search for matches: parameters set on top of a level's.
struct Search {
  int level;
  std::initializer_list<std::pair<Parameter, int>> changes;
};

/// zstd:3 to zstd:5 by default. ROOT's zstd:5 is the library's level 10. Baskets of medium size are
/// searched greedily: as small as by the library's level 5, in less time; large ones with two
/// tables, in half of the time, and 2 to 5 % larger (decision 0021).
constexpr int first_usual = 3;
constexpr int last_usual = 5;
constexpr std::size_t medium_bytes = 16 << 10;
constexpr std::size_t large_bytes = 64 << 10;
constexpr int level_of_small = 6;
const Search usual_of_small{level_of_small, {}};
const Search usual_of_medium{level_of_small,
                             {{Parameter::window_log, 17},
                              {Parameter::hash_log, 16},
                              {Parameter::chain_log, 16},
                              {Parameter::search_log, 3},
                              {Parameter::min_match, 5},
                              {Parameter::strategy, 3}}};
const Search usual_of_large{level_of_small,
                            {{Parameter::window_log, 21},
                             {Parameter::hash_log, 17},
                             {Parameter::chain_log, 17},
                             {Parameter::search_log, 1},
                             {Parameter::min_match, 5},
                             {Parameter::strategy, 2}}};

/// Pages of RNTuples have few matches, which are found at once (decision 0021).
constexpr int level_of_small_pages = 3;
constexpr int level_of_pages = 1;
const Search usual_of_small_pages{level_of_small_pages, {}};
const Search usual_of_pages{level_of_pages, {}};

/// A context of the library for one way of compressing.
class ZstdCompressor {
 public:
  explicit ZstdCompressor(const Search& search) {
    set(Parameter::level, search.level);
    for (const auto& [parameter, value] : search.changes) {
      set(parameter, value);
    }
  }

  void set(Parameter parameter, int value) {
    if (ZSTD_isError(ZSTD_CCtx_setParameter(context_.get(), static_cast<int>(parameter), value)) !=
        0) {
      throw Error("the Zstandard library does not know a parameter that it should");
    }
  }

  /// Bytes in `into`; 0 if they do not fit.
  std::size_t compress(std::span<const std::byte> from, std::span<std::byte> into) {
    const auto n =
        ZSTD_compress2(context_.get(), into.data(), into.size(), from.data(), from.size());
    return ZSTD_isError(n) != 0 ? 0 : n;
  }

 private:
  std::unique_ptr<ZSTD_CCtx_s, FreeContext> context_{ZSTD_createCCtx()};
};

bool has_own_search(Compression compression) {
  return compression.algorithm == ROOT::RCompressionSetting::EAlgorithm::kZSTD &&
         !compression.is_chosen && compression.level >= first_usual &&
         compression.level <= last_usual;
}

/// One context per thread and way: changing the way empties a context's tables.
ZstdCompressor& compressor_of(Compression compression, std::size_t n_bytes) {
  if (!has_own_search(compression)) {
    thread_local ZstdCompressor any{usual_of_small};
    any.set(Parameter::level, 2 * compression.level);  // as ROOT does
    return any;
  }
  if (n_bytes < medium_bytes) {
    thread_local ZstdCompressor small{usual_of_small};
    return small;
  }
  if (n_bytes < large_bytes) {
    thread_local ZstdCompressor medium{usual_of_medium};
    return medium;
  }
  thread_local ZstdCompressor large{usual_of_large};
  return large;
}

ZstdCompressor& page_compressor_of(Compression compression, std::size_t n_bytes) {
  if (!has_own_search(compression)) {
    return compressor_of(compression, n_bytes);
  }
  if (n_bytes < medium_bytes) {
    thread_local ZstdCompressor small{usual_of_small_pages};
    return small;
  }
  thread_local ZstdCompressor large{usual_of_pages};
  return large;
}

/// Compresses one block; returns its size, 0 if it does not fit.
std::size_t zip_zstd(std::span<const std::byte> from, ZstdCompressor& compressor,
                     std::span<std::byte> into) {
  const auto payload = into.subspan(std::min(header_size, into.size()));
  const auto n = compressor.compress(from, payload);
  if (n == 0) {
    return 0;
  }
  into[0] = std::byte{'Z'};
  into[1] = std::byte{'S'};
  into[2] = std::byte{1};
  put_size(&into[3], n);
  put_size(&into[6], from.size());
  return n + header_size;
}

/// ROOT's way; at forkrun's lowest level instead of its own search.
std::size_t zip_by_root(std::span<const std::byte> from, Compression compression,
                        std::span<std::byte> into) {
  const int level = has_own_search(compression) ? first_usual : compression.level;
  int n_from = static_cast<int>(from.size());
  int n_into = static_cast<int>(into.size());
  int n_done = 0;
  R__zipMultipleAlgorithm(
      level, &n_from, reinterpret_cast<const char*>(from.data()), &n_into,
      reinterpret_cast<char*>(into.data()), &n_done,
      static_cast<ROOT::RCompressionSetting::EAlgorithm::EValues>(compression.algorithm));
  return static_cast<std::size_t>(n_done);
}

}  // namespace

bool is_one_zlib_block(std::span<const std::byte> from, std::size_t n_into) {
  return is_zlib(from) && header_size + size_at(from, 3) == from.size() &&
         size_at(from, 6) == n_into;
}

void check_blocks(std::span<const std::byte> from, std::size_t n_into) {
  while (n_into > 0) {
    const auto block = parse_block(from, n_into);
    from = from.subspan(block.n_from);
    n_into -= block.n_into;
  }
}

namespace {

void unzip_blocks(std::span<const std::byte> from, std::span<std::byte> into) {
  while (!into.empty()) {
    const auto head = parse_block(from, into.size());
    const auto block = from.first(head.n_from);
    const auto part = into.first(head.n_into);
    if (!unzip_block(block, part)) {
      throw Error("a basket is damaged: it cannot be uncompressed");
    }
    from = from.subspan(block.size());
    into = into.subspan(part.size());
  }
}

}  // namespace

bool have_checksums(std::span<const std::byte> from) {
  bool have_some = false;
  while (from.size() > header_size) {
    const auto n_block = header_size + size_at(from, 3);
    const bool is_of_lz4_or_lzma =
        head_size(from) != 0 && (from[0] == std::byte{'L'} || from[0] == std::byte{'X'});
    if (n_block > from.size() || !(is_zlib(from) || is_of_lz4_or_lzma)) {
      return false;
    }
    from = from.subspan(n_block);
    have_some = true;
  }
  return have_some && from.empty();
}

void unzip(std::span<const std::byte> from, std::span<std::byte> into) {
  const UnpackingNote note{from.size(), into.size()};
  unzip_blocks(from, into);
}

bool are_better_together(const Zipped& one, const Zipped& other) {
  return is_one_zlib_block(one.from, one.into.size()) &&
         is_one_zlib_block(other.from, other.into.size());
}

void unzip_both(const Zipped& one, const Zipped& other) {
  const UnpackingNote note{one.from.size() + other.from.size(), one.into.size() + other.into.size(),
                           2};
  Inflated done{false, false};
  if (are_better_together(one, other)) {
    done = inflate_both({one.from.subspan(header_size), one.into},
                        {other.from.subspan(header_size), other.into});
  }
  if (!done.one) {
    unzip_blocks(one.from, one.into);
  }
  if (!done.other) {
    unzip_blocks(other.from, other.into);
  }
}

namespace {

template <typename CompressorOf>
std::size_t zip_blocks(std::span<const std::byte> from, Compression compression,
                       std::span<std::byte> into, CompressorOf of) {
  const bool zstd =
      compression.algorithm == ROOT::RCompressionSetting::EAlgorithm::kZSTD && has_zstd();
  std::size_t n_total = 0;
  while (!from.empty()) {
    const auto block = from.first(std::min(from.size(), max_block));
    const auto room = into.subspan(n_total).first(std::min(into.size() - n_total, max_block));
    const auto n = zstd ? zip_zstd(block, of(compression, block.size()), room)
                        : zip_by_root(block, compression, room);
    if (n == 0 || n >= block.size()) {
      return 0;
    }
    n_total += n;
    from = from.subspan(block.size());
  }
  return n_total;
}

}  // namespace

std::size_t zip(std::span<const std::byte> from, Compression compression,
                std::span<std::byte> into) {
  return zip_blocks(from, compression, into, compressor_of);
}

std::size_t zip_page(std::span<const std::byte> from, Compression compression,
                     std::span<std::byte> into) {
  return zip_blocks(from, compression, into, page_compressor_of);
}

bool is_possible_size(std::int64_t n_object, std::int64_t n_stored) {
  constexpr std::int64_t most_zipped = 10'000;
  return n_object >= 0 && n_stored >= 0 && n_object <= most_zipped * (n_stored + 1);
}

std::vector<std::byte> restored(std::span<const std::byte> stored, std::size_t n_object) {
  if (stored.size() >= n_object) {
    return {stored.begin(), stored.begin() + static_cast<std::ptrdiff_t>(n_object)};
  }
  check_blocks(stored, n_object);  // before memory is taken for their content
  std::vector<std::byte> object(n_object);
  unzip(stored, object);
  return object;
}

std::vector<std::byte> stored(std::span<const std::byte> object, Compression compression) {
  constexpr std::size_t not_worth_it = 256;  // as for ROOT
  if (compression.level > 0 && object.size() > not_worth_it) {
    std::vector<std::byte> zipped(object.size() + object.size() / 64 + 64);
    const auto n = zip(object, compression, zipped);
    if (n > 0 && n < object.size()) {
      zipped.resize(n);
      return zipped;
    }
  }
  return {object.begin(), object.end()};
}

}  // namespace forkrun
