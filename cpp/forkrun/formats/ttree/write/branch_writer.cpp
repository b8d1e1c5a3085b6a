#include <forkrun/formats/ttree/write/branch_writer.hpp>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include <forkrun/bytes/big_endian.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/ttree/write/nested_entries.hpp>

namespace forkrun::root_io {

namespace {

template <typename Signed>
std::int64_t count_at(const std::byte* at, bool is_unsigned) {
  const auto count = big_endian<Signed>(at);
  return is_unsigned ? static_cast<std::int64_t>(static_cast<std::make_unsigned_t<Signed>>(count))
                     : static_cast<std::int64_t>(count);
}

std::int64_t count_at(const std::byte* at, const CountPlace& place) {
  switch (place.value_size) {
    case 1: return count_at<std::int8_t>(at, place.is_unsigned);
    case 2: return count_at<std::int16_t>(at, place.is_unsigned);
    case 4: return count_at<std::int32_t>(at, place.is_unsigned);
    default: return big_endian<std::int64_t>(at);
  }
}

/// Leaves follow each other in each entry.
std::vector<CountPlace> count_places(std::span<const LeafInEntry> leaves) {
  std::vector<CountPlace> places;
  std::optional<std::size_t> at = 0;
  for (std::size_t number = 0; number < leaves.size(); ++number) {
    const auto& leaf = leaves[number];
    if (leaf.counts || leaf.is_text) {
      places.push_back(
          {number, leaf.is_text ? std::nullopt : at, leaf.value_size, leaf.is_unsigned});
    }
    at = at && leaf.is_fixed ? std::optional{*at + leaf.value_size * leaf.n_values} : std::nullopt;
  }
  return places;
}

bool has_first(std::span<const EntryRun> runs) {
  return !runs.empty() && runs.front().first < runs.front().last;
}

bool has_last(std::span<const EntryRun> runs) {
  return !runs.empty() && runs.back().first < runs.back().last;
}

}  // namespace

BranchWriter::BranchWriter(std::unique_ptr<WrittenBranch> branch, Compression compression)
    : branch_{std::move(branch)},
      compression_{compression},
      has_offsets_{branch_->has_offsets()},
      samples_{branch_->name()} {}

void BranchWriter::note(BranchReader& reader, std::int64_t entry, std::int64_t number) {
  samples_.note(number, reader.basket_at(entry).entries(entry, entry + 1));
}

void BranchWriter::copy(BranchReader& reader, std::span<const EntryRun> runs) {
  const auto n_bytes_before = pending_.size();
  const auto n_entries_before = offsets_.size();
  if (has_first(runs)) {
    note(reader, runs.front().first, n_written_ + n_pending_);
  }
  for (const auto run : runs) {
    copy(reader, run);
  }
  if (has_last(runs)) {
    note(reader, runs.back().last - 1, n_written_ + n_pending_ - 1);
  }
  note_largest(reader, n_bytes_before, n_entries_before);
}

void BranchWriter::copy(BranchReader& reader, EntryRun run) {
  while (run.first < run.last) {
    const Basket& basket = reader.basket_at(run.first);
    const EntryRun part{run.first, std::min(run.last, basket.first_entry + basket.n_entries)};
    if (has_offsets_) {
      copy_varying(basket, part);
    } else {
      copy_fixed(basket, part);
    }
    n_pending_ += static_cast<std::int32_t>(part.last - part.first);
    run.first = part.last;
  }
}

void BranchWriter::gather(BranchReader& reader, std::span<const NumberedRun> runs) {
  const auto n_bytes_before = pending_.size();
  const auto n_entries_before = offsets_.size();
  note(reader, runs.front().entries.first, runs.front().number);
  for (const auto& run : runs) {
    const auto byte = pending_.size();
    const auto offset = offsets_.size();
    copy(reader, run.entries);
    gathered_.push_back({byte, pending_.size() - byte, offset, offsets_.size() - offset});
  }
  const auto& [entries, number] = runs.back();
  note(reader, entries.last - 1, number + entries.last - 1 - entries.first);
  note_largest(reader, n_bytes_before, n_entries_before);
}

void BranchWriter::arrange(std::span<const std::size_t> order) {
  const auto first = gathered_.front();
  const auto tail = std::as_const(pending_).view().subspan(first.byte);
  const std::vector<std::byte> bytes{tail.begin(), tail.end()};
  auto to = offsets_.begin() + static_cast<std::ptrdiff_t>(first.offset);
  const std::vector<std::int32_t> offsets{to, offsets_.end()};
  auto byte = first.byte;
  for (const auto number : order) {
    const auto& from = gathered_[number];
    std::memcpy(pending_.view().data() + byte, bytes.data() + (from.byte - first.byte),
                from.n_bytes);
    const auto shift = static_cast<std::int32_t>(byte) - static_cast<std::int32_t>(from.byte);
    const auto moved = std::span{offsets}.subspan(from.offset - first.offset, from.n_offsets);
    to = std::ranges::transform(moved, to, [&](auto at) { return at + shift; }).out;
    byte += from.n_bytes;
  }
  gathered_.clear();
}

void BranchWriter::note_largest(const BranchReader& reader, std::size_t n_bytes_before,
                                std::size_t n_entries_before) {
  note_counts(n_bytes_before, n_entries_before);
  for (const auto& place : counts()) {
    if (!place.at && place.leaf < reader.branch().largest_counts.size()) {
      include_largest(place.leaf, reader.branch().largest_counts[place.leaf]);
    }
  }
}

/// Known once the branches that it counts are made: from the first entries on.
std::span<const CountPlace> BranchWriter::counts() {
  if (!counts_) {
    counts_ = count_places(branch_->leaves());
  }
  return *counts_;
}

void BranchWriter::copy_fixed(const Basket& basket, EntryRun run) {
  const auto bytes = basket.entries(run.first, run.last);
  entry_size_ = static_cast<std::int32_t>(basket.entry_size);
  std::byte* to = pending_.extend(bytes.size());
  std::memcpy(to, bytes.data(), bytes.size());
}

void BranchWriter::copy_varying(const Basket& basket, EntryRun run) {
  const auto bytes = basket.entries(run.first, run.last);
  const auto* at = basket.offsets.data() + (run.first - basket.first_entry);
  const auto shift = static_cast<std::int32_t>(pending_.size()) - *at;
  for (auto entry = run.first; entry < run.last; ++entry, ++at) {
    offsets_.push_back(*at + shift);
  }
  std::memcpy(pending_.extend(bytes.size()), bytes.data(), bytes.size());
}

/// Notes the largest counts in pending entries, from these bytes and this entry on.
void BranchWriter::note_counts(std::size_t n_bytes_before, std::size_t n_entries_before) {
  for (const auto& place : counts()) {
    if (!place.at) {
      continue;
    }
    if (has_offsets_) {
      for (const auto begin : std::span{offsets_}.subspan(n_entries_before)) {
        note_counts_at(place, static_cast<std::size_t>(begin));
      }
    } else if (entry_size_ > 0) {
      const auto entry_size = static_cast<std::size_t>(entry_size_);
      for (auto begin = n_bytes_before; begin < pending_.size(); begin += entry_size) {
        note_counts_at(place, begin);
      }
    }
  }
}

void BranchWriter::note_counts_at(const CountPlace& place, std::size_t begin) {
  const auto at = begin + *place.at;
  if (at + place.value_size <= pending_.size()) {
    include_largest(place.leaf, count_at(pending_.view().data() + at, place));
  }
}

void BranchWriter::include_largest(std::size_t leaf, std::int64_t count) {
  if (leaf >= largest_counts_.size()) {
    largest_counts_.resize(leaf + 1);
  }
  largest_counts_[leaf] = std::max(largest_counts_[leaf], count);
}

void BranchWriter::add(const Column& column, std::span<const EntryRun> runs) {
  if (has_first(runs)) {
    samples_.note(n_written_ + n_pending_, column, runs.front().first);
  }
  if (column.type().is_nested()) {
    add_nested(column, runs);
  } else {
    add_values(column, runs);
  }
  if (has_last(runs)) {
    samples_.note(n_written_ + n_pending_ - 1, column, runs.back().last - 1);
  }
}

void BranchWriter::add_values(const Column& column, std::span<const EntryRun> runs) {
  const auto size = size_of(column.type().element) * column.type().n_in_item();
  const auto bytes = column.values<std::byte>().data();
  const bool is_jagged = column.type().shape == Shape::jagged;
  const auto offsets = column.offsets();
  entry_size_ = static_cast<std::int32_t>(size);
  for (const auto& run : runs) {
    auto first = static_cast<std::size_t>(run.first);
    auto last = static_cast<std::size_t>(run.last);
    if (is_jagged) {
      const auto base = static_cast<std::int64_t>(pending_.size()) -
                        offsets[first] * static_cast<std::int64_t>(size);
      for (auto event = first; event < last; ++event) {
        offsets_.push_back(
            static_cast<std::int32_t>(base + offsets[event] * static_cast<std::int64_t>(size)));
      }
      first = static_cast<std::size_t>(offsets[first]);
      last = static_cast<std::size_t>(offsets[last]);
    }
    const auto n_bytes = (last - first) * size;
    const auto value_size = size_of(column.type().element);
    swap_copy(pending_.extend(n_bytes), bytes + first * size, n_bytes / value_size, value_size);
    n_pending_ += static_cast<std::int32_t>(run.last - run.first);
  }
}

void BranchWriter::add_nested(const Column& column, std::span<const EntryRun> runs) {
  for (const auto& run : runs) {
    for (auto event = run.first; event < run.last; ++event) {
      offsets_.push_back(static_cast<std::int32_t>(pending_.size()));
      add_nested_entry(column, static_cast<std::size_t>(event), pending_);
    }
    n_pending_ += static_cast<std::int32_t>(run.last - run.first);
  }
}

void BranchWriter::add_counts(const Column& column, std::span<const EntryRun> runs) {
  const auto offsets = column.offsets();
  const auto n_bytes_before = pending_.size();
  entry_size_ = sizeof(std::int32_t);
  if (has_first(runs)) {
    samples_.note_count(n_written_ + n_pending_, column, runs.front().first);
  }
  for (const auto& run : runs) {
    for (auto event = static_cast<std::size_t>(run.first);
         event < static_cast<std::size_t>(run.last); ++event) {
      put_big_endian(pending_.extend(sizeof(std::int32_t)),
                     static_cast<std::int32_t>(offsets[event + 1] - offsets[event]));
    }
    n_pending_ += static_cast<std::int32_t>(run.last - run.first);
  }
  if (has_last(runs)) {
    samples_.note_count(n_written_ + n_pending_ - 1, column, runs.back().last - 1);
  }
  note_counts(n_bytes_before, offsets_.size());
}

/// The entry as it will be in the basket.
std::span<const std::byte> BranchWriter::pending_entry(std::int64_t number) const {
  const auto at = static_cast<std::size_t>(number - n_written_);
  const auto bytes = pending_.view();
  if (offsets_.empty()) {
    const auto size = static_cast<std::size_t>(entry_size_);
    return (at + 1) * size <= bytes.size() ? bytes.subspan(at * size, size)
                                           : std::span<const std::byte>{};
  }
  const auto begin = static_cast<std::size_t>(offsets_[at]);
  const auto end =
      at + 1 < offsets_.size() ? static_cast<std::size_t>(offsets_[at + 1]) : bytes.size();
  return bytes.subspan(begin, end - begin);
}

void BranchWriter::encode() {
  if (n_pending_ == 0) {
    return;
  }
  samples_.compare(branch_->tree_name(), [&](auto number) { return pending_entry(number); });
  encoded_ = encode_basket(branch_->name(), branch_->tree_name(), pending_.view(), offsets_,
                           entry_size_, n_pending_, compression_);
  encoded_->first_entry = n_written_;
  n_written_ += n_pending_;
  n_pending_ = 0;
  pending_.clear();
  offsets_.clear();
}

BasketHeader BranchWriter::put(RecordFile& file) {
  auto& record = encoded_->record;
  samples_.note_basket(encoded_->header, encoded_->first_entry, ends_of(record, encoded_->header));
  const auto place = file.allocate(record.size());
  place_basket(record, place, file.seek_directory());
  file.write(place, record);
  encoded_->header.seek_key = place;
  return encoded_->header;
}

void BranchWriter::write(RecordFile& file) {
  if (encoded_) {
    const auto header = put(file);
    branch_->enter(header, header.seek_key, encoded_->first_entry);
    encoded_.reset();
  }
}

BasketHeader BranchWriter::write_filled(RecordFile& file, std::span<const std::byte> entries,
                                        std::vector<std::int32_t> offsets, std::int32_t entry_size,
                                        std::int32_t n_entries) {
  std::ranges::copy(entries, pending_.extend(entries.size()));
  offsets_ = std::move(offsets);
  entry_size_ = entry_size;
  n_pending_ = n_entries;
  for (const auto number : {n_written_, n_written_ + n_entries - 1}) {
    samples_.note(number, pending_entry(number));
  }
  encode();
  const auto header = put(file);
  encoded_.reset();
  return header;
}

void BranchWriter::enter(const BasketHeader& header, std::int64_t place, std::int64_t first_entry,
                         std::uint32_t ends) {
  if (first_entry != n_written_) {
    samples_.fail(branch_->tree_name(), first_entry);
  }
  samples_.note_basket(header, first_entry, ends);
  branch_->enter(header, place, n_written_);
  n_written_ += header.n_entries;
}

void BranchWriter::finish() { branch_->finish(n_written_, largest_counts_); }

void BranchWriter::include_largest(std::span<const std::int64_t> counts) {
  for (std::size_t leaf = 0; leaf < counts.size(); ++leaf) {
    include_largest(leaf, counts[leaf]);
  }
}

}  // namespace forkrun::root_io
