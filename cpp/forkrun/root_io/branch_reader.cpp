#include <forkrun/root_io/branch_reader.hpp>

#include <algorithm>

#include <TBasket.h>
#include <TBranch.h>
#include <TBufferFile.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/root_io/big_endian.hpp>

namespace forkrun::root_io {

BranchReader::BranchReader(TBranch& branch, InputFile& file)
    : branch_{branch}, file_{file}, layout_{layout_of(branch)} {
  const auto n_baskets = static_cast<std::size_t>(branch.GetWriteBasket()) + 1;
  for (std::size_t i = 0; i < n_baskets && branch.GetBasketEntry()[i] < branch.GetEntries(); ++i) {
    if (starts_.empty() || branch.GetBasketEntry()[i] > starts_.back()) {
      starts_.push_back(branch.GetBasketEntry()[i]);
    } else {
      starts_.back() = branch.GetBasketEntry()[i];
    }
  }
  starts_.push_back(branch.GetEntries());
}

std::size_t BranchReader::find(std::int64_t entry) const {
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), entry);
  if (after == starts_.begin() || after == starts_.end()) {
    throw InputError(file_.path() + ": branch " + layout_.name + " has no entry " +
                     std::to_string(entry));
  }
  return static_cast<std::size_t>(after - starts_.begin()) - 1;
}

std::int64_t BranchReader::basket_end(std::int64_t entry) const { return starts_[find(entry) + 1]; }

const Basket& BranchReader::basket_at(std::int64_t entry) {
  if (loaded_ == static_cast<std::size_t>(-1) || !basket_.contains(entry)) {
    load(find(entry));
  }
  return basket_;
}

void BranchReader::load(std::size_t number) {
  loaded_ = static_cast<std::size_t>(-1);
  try {
    const auto basket = static_cast<int>(number);
    if (branch_.GetBasketSeek(basket) == 0) {
      load_from_tree(number);
    } else {
      const auto n_bytes = static_cast<std::size_t>(branch_.GetBasketBytes()[basket]);
      file_.read(branch_.GetBasketSeek(basket), record_.resize(n_bytes));
      decode_basket(record_.view(), layout_.has_offsets, memory_, basket_);
    }
  } catch (const InputError&) {
    throw;
  } catch (const Error& error) {
    throw InputError(file_.path() + ": branch " + layout_.name + ", entry " +
                     std::to_string(starts_[number]) + ": " + error.what());
  }
  basket_.first_entry = starts_[number];
  if (basket_.n_entries != starts_[number + 1] - starts_[number]) {
    throw InputError(file_.path() + ": branch " + layout_.name + ": the basket at entry " +
                     std::to_string(starts_[number]) + " has " + std::to_string(basket_.n_entries) +
                     " entries where the tree says " +
                     std::to_string(starts_[number + 1] - starts_[number]));
  }
  loaded_ = number;
}

/// A small last basket may be kept within the tree's own record instead of a record of its own.
void BranchReader::load_from_tree(std::size_t number) {
  TBasket* stored = branch_.GetBasket(static_cast<int>(number));
  if (stored == nullptr || stored->GetBufferRef() == nullptr) {
    throw InputError(file_.path() + ": branch " + layout_.name + ": a basket is missing");
  }
  const auto key_length = stored->GetKeylen();
  const auto* bytes = reinterpret_cast<const std::byte*>(stored->GetBufferRef()->Buffer());
  const auto n_bytes = static_cast<std::size_t>(stored->GetLast() - key_length);
  const auto data = memory_.resize(n_bytes);
  std::copy_n(bytes + key_length, n_bytes, data.begin());
  basket_.data = data;
  basket_.n_entries = stored->GetNevBuf();
  basket_.offsets.clear();
  if (!layout_.has_offsets) {
    basket_.entry_size =
        basket_.n_entries == 0 ? 0 : n_bytes / static_cast<std::size_t>(basket_.n_entries);
    return;
  }
  for (int i = 0; i < stored->GetNevBuf(); ++i) {
    basket_.offsets.push_back(stored->GetEntryOffset()[i] - key_length);
  }
  basket_.offsets.push_back(static_cast<std::int32_t>(n_bytes));
}

void BranchReader::for_each_basket(
    std::int64_t first, std::int64_t last,
    const std::function<void(const Basket&, std::int64_t, std::int64_t)>& use) {
  while (first < last) {
    const Basket& basket = basket_at(first);
    const auto end = std::min(last, basket.first_entry + basket.n_entries);
    use(basket, first, end);
    first = end;
  }
}

void BranchReader::read(std::int64_t first, std::int64_t last, Column& into) {
  into.reset(*layout_.column);
  if (layout_.column->shape == Shape::scalar) {
    read_scalars(first, last, into);
  } else {
    read_jagged(first, last, into);
  }
}

void BranchReader::read_scalars(std::int64_t first, std::int64_t last, Column& into) {
  const auto size = size_of(layout_.column->element);
  auto* to = into.resize_values(static_cast<std::size_t>(last - first));
  for_each_basket(first, last, [&](const Basket& basket, std::int64_t from, std::int64_t end) {
    const auto bytes = basket.entries(from, end);
    const auto n = static_cast<std::size_t>(end - from);
    if (bytes.size() != n * size) {
      throw InputError(file_.path() + ": branch " + layout_.name +
                       " does not have one value per entry");
    }
    swap_copy(to, bytes.data(), n, size);
    to += bytes.size();
  });
}

void BranchReader::read_jagged(std::int64_t first, std::int64_t last, Column& into) {
  const auto size = size_of(layout_.column->element);
  auto offsets = into.resize_offsets(static_cast<std::size_t>(last - first));
  offsets[0] = 0;
  const bool is_one_basket = first < last && basket_end(first) >= last;
  values_.clear();
  if (!is_one_basket && branch_.GetEntries() > 0) {
    values_.reserve(
        static_cast<std::size_t>(branch_.GetTotBytes() * (last - first) / branch_.GetEntries()));
  }
  for_each_basket(first, last, [&](const Basket& basket, std::int64_t from, std::int64_t end) {
    const auto n = static_cast<std::size_t>(end - from);
    fill_offsets(basket, from, offsets.first(n + 1));
    const auto n_values = static_cast<std::size_t>(offsets[n] - offsets[0]);
    copy_values(basket, from, end,
                is_one_basket ? into.resize_values(n_values) : values_.extend(n_values * size));
    offsets = offsets.subspan(n);
  });
  if (!is_one_basket) {
    auto* to = into.resize_values(values_.size() / size);
    std::copy_n(values_.view().data(), values_.size(), to);
  }
}

/// Continues from offsets[0].
void BranchReader::fill_offsets(const Basket& basket, std::int64_t from,
                                std::span<std::int64_t> offsets) const {
  const auto header = static_cast<std::int64_t>(layout_.header_bytes);
  const auto size = static_cast<std::int64_t>(size_of(layout_.column->element));
  const auto* at = basket.offsets.data() + (from - basket.first_entry);
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    const std::int64_t n_bytes = at[i + 1] - at[i] - header;
    if (n_bytes < 0 || n_bytes % size != 0) {
      throw InputError(file_.path() + ": branch " + layout_.name + ", entry " +
                       std::to_string(from + static_cast<std::int64_t>(i)) +
                       ": is not a whole number of values");
    }
    offsets[i + 1] = offsets[i] + n_bytes / size;
  }
}

void BranchReader::copy_values(const Basket& basket, std::int64_t from, std::int64_t end,
                               std::byte* to) const {
  const auto size = size_of(layout_.column->element);
  const auto header = layout_.header_bytes;
  if (header == 0) {
    const auto bytes = basket.entries(from, end);
    return swap_copy(to, bytes.data(), bytes.size() / size, size);
  }
  const auto* at = basket.offsets.data() + (from - basket.first_entry);
  for (std::int64_t entry = from; entry < end; ++entry, ++at) {
    const auto n_bytes = static_cast<std::size_t>(at[1] - at[0]) - header;
    swap_copy(to, basket.data.data() + at[0] + header, n_bytes / size, size);
    to += n_bytes;
  }
}

}  // namespace forkrun::root_io
