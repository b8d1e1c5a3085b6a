#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <forkrun/formats/root_file/record_file.hpp>
#include <forkrun/formats/ttree/layout/basket.hpp>
#include <forkrun/formats/ttree/merge/basket_check.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>

namespace forkrun::root_io {

/// Calls `use` with chunks of baskets that follow each other on file, of some MB at most: one read
/// and one write each. `places`: by place.
template <typename Use>
void for_each_chunk(std::span<const BasketPlace> places, const Use& use) {
  constexpr std::int64_t chunk_bytes = 4 << 20;
  for (auto begin = places.begin(); begin != places.end();) {
    auto end = begin + 1;
    while (end != places.end() && end->seek == (end - 1)->seek + (end - 1)->n_bytes &&
           end->seek + end->n_bytes - begin->seek <= chunk_bytes) {
      ++end;
    }
    use(std::span{begin, end});
    begin = end;
  }
}

/// A chunk of baskets in memory, checked.
struct BasketChunk {
  std::span<std::byte> bytes;
  std::vector<std::span<const std::byte>> records;
  std::vector<BasketHeader> headers;
};

/// \throws InputError
[[nodiscard]] BasketChunk read_chunk(TreeFile& file, const BasketCheck& check,
                                     std::span<const BasketPlace> places, Bytes& memory);

/// A basket that is in the output, and not yet in its branch.
struct CopiedBasket {
  std::size_t branch{};
  std::int64_t first_entry{};  ///< in the input
  BasketHeader header;
  std::int64_t place{};
  std::uint32_t ends{};  ///< of what it holds, before it was written
};

/// Baskets that have records of their own, in the order in which they lie in the file.
[[nodiscard]] std::vector<BasketPlace> on_file(std::span<const BasketPlace> places);

/// Checks all baskets of a tree on file. Returns whether `is` one of them so, if it is given.
/// \throws InputError
bool check_all(TreeFile& file, const BasketCheck& check, Bytes& memory,
               const std::function<bool(const BasketPlace&, const BasketHeader&)>& is = {});

/// Copies baskets of a file as they are, in the order in which they lie there; each is checked
/// first. Returns them sorted by branch. `memory`: for what is read; `process_offset`: see
/// `place_basket`. \throws InputError, OutputError
[[nodiscard]] std::vector<CopiedBasket> copy_baskets(
    TreeFile& file, const BasketCheck& check, std::vector<BasketPlace> baskets, RecordFile& output,
    Bytes& memory, std::optional<std::uint16_t> process_offset = {});

}  // namespace forkrun::root_io
