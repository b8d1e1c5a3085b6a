#include <forkrun/formats/ttree/write/branch_samples.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include <forkrun/bytes/big_endian.hpp>
#include <forkrun/formats/ttree/write/nested_entries.hpp>
#include <forkrun/process/file_checksum.hpp>

namespace forkrun::root_io {

namespace {

/// Samples of each basket: the first ones, and the last.
constexpr std::size_t most_of_basket = 4;

/// The bytes of a column's event as an entry on file.
void add_entry(const Column& column, std::size_t event, Bytes& to) {
  if (column.type().is_nested()) {
    return add_nested_entry(column, event, to);
  }
  const auto value_size = size_of(column.type().element);
  const auto item_size = value_size * column.type().n_in_item();
  const auto offsets = column.offsets();
  const bool is_jagged = column.type().shape == Shape::jagged;
  const auto first = is_jagged ? static_cast<std::size_t>(offsets[event]) : event;
  const auto last = is_jagged ? static_cast<std::size_t>(offsets[event + 1]) : event + 1;
  const auto n_bytes = (last - first) * item_size;
  swap_copy(to.extend(n_bytes), column.values<std::byte>().data() + first * item_size,
            n_bytes / value_size, value_size);
}

BranchSamples::Entry sample_of(std::int64_t number, std::span<const std::byte> entry) {
  return {number, crc32c(entry), static_cast<std::uint32_t>(entry.size())};
}

}  // namespace

std::uint32_t ends_of(std::span<const std::byte> record, const BasketHeader& header) {
  const auto payload = record.subspan(static_cast<std::size_t>(header.key_length));
  const auto n = std::min(payload.size(), end_bytes);
  return crc32c(payload.last(n), crc32c(payload.first(n)));  // offsets may follow the values
}

BranchSamples::BranchSamples(const std::string& branch)
    : branch_{branch}, turn_{crc32c(std::as_bytes(std::span{branch})) % period} {}

void BranchSamples::note(std::int64_t number, std::span<const std::byte> entry) {
  if (pending_.size() < most_of_basket) {
    pending_.push_back(sample_of(number, entry));
  } else {
    pending_.back() = sample_of(number, entry);
  }
}

void BranchSamples::note(std::int64_t number, const Column& column, std::int64_t event) {
  Bytes entry;
  add_entry(column, static_cast<std::size_t>(event), entry);
  note(number, std::as_const(entry).view());
}

void BranchSamples::note_count(std::int64_t number, const Column& column, std::int64_t event) {
  const auto* at = column.offsets().data() + event;
  std::array<std::byte, sizeof(std::int32_t)> count{};
  put_big_endian(count.data(), static_cast<std::int32_t>(at[1] - at[0]));
  note(number, count);
}

void BranchSamples::note_basket(const BasketHeader& header, std::int64_t first_entry,
                                std::uint32_t ends) {
  baskets_.push_back({first_entry, header.n_entries, header.n_bytes - header.key_length, ends});
}

bool BranchSamples::agrees(const Entry& noted, std::span<const std::byte> entry) {
  return entry.size() == noted.n_bytes && crc32c(entry) == noted.checksum;
}

void BranchSamples::end_basket() {
  if (turn_++ % period == 0) {
    entries_.insert(entries_.end(), pending_.begin(), pending_.end());
  }
  pending_.clear();
}

void BranchSamples::fail(const std::string& tree, std::int64_t entry) const {
  throw VerificationFailed("tree \"" + tree + "\", branch \"" + branch_ + "\": entry " +
                           std::to_string(entry) +
                           " of the output would not be what it is made of; please report it, with "
                           "the input");
}

}  // namespace forkrun::root_io
