#include <forkrun/bytes/xxh3.hpp>

#include <string>

#include <dlfcn.h>

#include <forkrun/core/data/errors.hpp>

namespace forkrun {

namespace {

/// ROOT::Internal::RNTupleSerializer::SerializeXxHash3.
using HashOfRoot = unsigned (*)(const unsigned char* bytes, std::uint64_t n_bytes,
                                std::uint64_t& hash, void* hash_bytes);
constexpr const char* name_of_hash =
    "_ZN4ROOT8Internal17RNTupleSerializer16SerializeXxHash3EPKhmRmPv";

/// In ROOT's library for RNTuples, which takes 4 ms to load, and 1 MB in each process.
HashOfRoot find_hash() {
  void* const library = ::dlopen("libROOTNTuple.so", RTLD_NOW | RTLD_LOCAL);
  void* const found = library == nullptr ? nullptr : ::dlsym(library, name_of_hash);
  if (found == nullptr) {
    throw Error("ROOT cannot make the checksums of RNTuples: " + std::string{::dlerror()});
  }
  return reinterpret_cast<HashOfRoot>(found);
}

}  // namespace

std::uint64_t xxh3(std::span<const std::byte> bytes) {
  static const auto hash_of_root = find_hash();
  std::uint64_t hash = 0;
  std::uint64_t hash_bytes = 0;  // in the file's order
  hash_of_root(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), hash,
               &hash_bytes);
  return hash;
}

}  // namespace forkrun
