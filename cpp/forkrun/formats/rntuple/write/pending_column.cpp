#include <forkrun/formats/rntuple/write/pending_column.hpp>

#include <algorithm>
#include <cstring>

#include <forkrun/bytes/xxh3.hpp>
#include <forkrun/bytes/zip.hpp>
#include <forkrun/formats/rntuple/page_values.hpp>
#include <forkrun/formats/rntuple/write/page_encoding.hpp>

namespace forkrun::rntuple {

PendingColumn::PendingColumn(const StoredColumn& column, Compression compression)
    : column_{column}, compression_{compression}, value_bytes_{size_of(stored_element(column))} {}

std::byte* PendingColumn::extend(std::size_t n) {
  if (values_.size() == 0) {
    values_.reserve(usual_value_bytes_);
  }
  return values_.extend(n * value_bytes_);
}

std::int64_t PendingColumn::last_end() const {
  std::int64_t end = 0;
  if (values_.size() > 0) {
    std::memcpy(&end, values_.view().last(sizeof end).data(), sizeof end);
  }
  return end;
}

void PendingColumn::repeat_last(std::size_t n) {
  auto* into = extend(n);
  std::copy_n(into - n * value_bytes_, n * value_bytes_, into);
}

void PendingColumn::add_page(std::uint32_t n_values, std::span<const std::byte> bytes) {
  seal_values();
  if (sealed_.size() == 0) {
    sealed_.reserve(usual_page_bytes_);
  }
  begins_.push_back(sealed_.size());
  pages_.push_back({n_values, {}, {}});
  std::ranges::copy(bytes, sealed_.extend(bytes.size()));
}

void PendingColumn::seal() {
  seal_values();
  begins_.push_back(sealed_.size());
  for (std::size_t i = 0; i < pages_.size(); ++i) {
    pages_[i].bytes = sealed_.view().subspan(begins_[i], begins_[i + 1] - begins_[i]);
  }
}

void PendingColumn::forget_pages() {
  usual_page_bytes_ = sealed_.size();
  sealed_ = {};
  begins_.clear();
  pages_.clear();
}

void PendingColumn::seal_values() {
  constexpr std::size_t most_page_bytes = 1U << 20U;
  const auto most = most_page_bytes / value_bytes_;
  for (std::size_t first = 0; first < n_values(); first += most) {
    const auto n = std::min(most, n_values() - first);
    seal_page(values_.view().subspan(first * value_bytes_, n * value_bytes_), n);
  }
  usual_value_bytes_ = values_.size();
  values_ = {};
  packed_ = {};
}

/// Some pages are samples, whose values are compared once they are written.
void PendingColumn::seal_page(std::span<const std::byte> values, std::size_t n) {
  constexpr std::size_t period = 16;
  const auto packed = packed_.resize(packed_bytes(column_, n));
  encode_page(column_, values, n, packed);
  const auto begin = sealed_.size();
  const std::span room{sealed_.extend(packed.size() + checksum_bytes), packed.size()};
  auto n_stored = compression_.level == 0 ? 0 : zip_page(packed, compression_, room);
  if (n_stored == 0) {
    std::ranges::copy(packed, room.begin());
    n_stored = packed.size();
  }
  const auto checksum = xxh3(room.first(n_stored));
  std::memcpy(room.data() + n_stored, &checksum, sizeof checksum);
  static_cast<void>(sealed_.resize(begin + n_stored + checksum_bytes));
  begins_.push_back(begin);
  const bool is_sample = n_made_++ % period == 0;
  pages_.push_back(
      {static_cast<std::uint32_t>(n), is_sample ? std::optional{xxh3(values)} : std::nullopt, {}});
}

}  // namespace forkrun::rntuple
