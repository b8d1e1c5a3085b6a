#include <forkrun/root_io/write/branch_writer.hpp>

#include <algorithm>
#include <cstring>

#include <TBranch.h>
#include <TBranchElement.h>
#include <TLeaf.h>
#include <TTree.h>
#include <TVirtualStreamerInfo.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/root_io/big_endian.hpp>
#include <forkrun/root_io/write/leaf_range.hpp>
#include <forkrun/root_io/write/nested_entries.hpp>

namespace forkrun::root_io {

namespace {

TLeaf* only_leaf(TBranch& branch) {
  const auto* leaves = branch.GetListOfLeaves();
  return leaves->GetEntriesFast() == 1 ? static_cast<TLeaf*>(leaves->At(0)) : nullptr;
}

/// Whether other branches have their counts here: known only once those are made.
bool counts_others(TBranch& branch) {
  const TLeaf* leaf = only_leaf(branch);
  return leaf != nullptr && leaf->IsRange();
}

/// Those of objects in collections, or of values in an array of an object.
bool counts_objects(TBranch& branch) {
  constexpr int clones = 3, collection = 4;
  const auto* element = dynamic_cast<TBranchElement*>(&branch);
  return element != nullptr && (element->GetType() == clones || element->GetType() == collection ||
                                element->GetStreamerType() == TVirtualStreamerInfo::kCounter);
}

std::int64_t counted(const std::byte* entry, std::size_t size) {
  switch (size) {
    case 1: return std::to_integer<std::int64_t>(*entry);
    case 2: return big_endian<std::int16_t>(entry);
    case 4: return big_endian<std::int32_t>(entry);
    default: return big_endian<std::int64_t>(entry);
  }
}

}  // namespace

BranchWriter::BranchWriter(TBranch& branch, Compression compression)
    : branch_{branch},
      compression_{compression},
      has_offsets_{branch.GetEntryOffsetLen() != 0},
      counts_objects_{counts_objects(branch)} {}

void BranchWriter::copy(BranchReader& reader, std::span<const EntryRun> runs) {
  const auto n_from = pending_.size();
  for (auto run : runs) {
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
  note_counts(n_from);
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

void BranchWriter::note_counts(std::size_t n_from) {
  const auto size = counts_objects_ ? sizeof(std::int32_t) : static_cast<std::size_t>(entry_size_);
  if (size == 0 || !(counts_objects_ || counts_others(branch_))) {
    return;
  }
  for (auto at = n_from; at < pending_.size(); at += size) {
    largest_count_ = std::max(largest_count_, counted(pending_.view().data() + at, size));
  }
}

void BranchWriter::add(const Column& column, std::span<const EntryRun> runs) {
  if (column.type().is_nested()) {
    return add_nested(column, runs);
  }
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
  const auto n_from = pending_.size();
  entry_size_ = sizeof(std::int32_t);
  for (const auto& run : runs) {
    for (auto event = static_cast<std::size_t>(run.first);
         event < static_cast<std::size_t>(run.last); ++event) {
      put_big_endian(pending_.extend(sizeof(std::int32_t)),
                     static_cast<std::int32_t>(offsets[event + 1] - offsets[event]));
    }
    n_pending_ += static_cast<std::int32_t>(run.last - run.first);
  }
  note_counts(n_from);
}

void BranchWriter::encode() {
  if (n_pending_ == 0) {
    return;
  }
  encoded_ = encode_basket(branch_.GetName(), branch_.GetTree()->GetName(), pending_.view(),
                           offsets_, entry_size_, n_pending_, compression_);
  encoded_->first_entry = n_written_;
  n_written_ += n_pending_;
  n_pending_ = 0;
  pending_.clear();
  offsets_.clear();
}

void BranchWriter::write(OutputFile& file) {
  if (encoded_) {
    file.append(branch_, encoded_->record, encoded_->header, encoded_->first_entry);
    encoded_.reset();
  }
}

void BranchWriter::enter(const BasketHeader& header, std::int64_t place) {
  enter_basket(branch_, header, place, n_written_);
  n_written_ += header.n_entries;
}

void BranchWriter::finish() {
  if (!counts_objects_ && counts_others(branch_)) {
    TLeaf& leaf = *only_leaf(branch_);
    include_range(leaf, {leaf.GetMinimum(), largest_count_});
  } else if (counts_objects_) {
    set_largest_count(branch_, std::max(largest_count(branch_), static_cast<int>(largest_count_)));
  }
  branch_.AddLastBasket(n_written_);
}

void BranchWriter::include_maximum(TBranch& from) {
  if (counts_objects_) {
    largest_count_ = std::max<std::int64_t>(largest_count_, largest_count(from));
  } else if (counts_others(branch_)) {
    largest_count_ = std::max<std::int64_t>(largest_count_, only_leaf(from)->GetMaximum());
  }
}

}  // namespace forkrun::root_io
