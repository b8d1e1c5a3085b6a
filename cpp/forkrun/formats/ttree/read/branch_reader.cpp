#include <forkrun/formats/ttree/read/branch_reader.hpp>

#include <algorithm>
#include <bit>
#include <utility>

#include <forkrun/bytes/big_endian.hpp>
#include <forkrun/core/data/counted.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/ttree/read/input_tree.hpp>
#include <forkrun/formats/ttree/read/unpacked_room.hpp>

namespace forkrun::root_io {

namespace {

template <typename T>
std::vector<std::int64_t> widened(const Column& column) {
  const auto values = column.values<T>();
  return {values.begin(), values.end()};
}

/// \throws Error if they are none.
std::vector<std::int64_t> integers_of(const Column& column) {
  switch (column.type().element) {
    case ElementType::int8: return widened<std::int8_t>(column);
    case ElementType::uint8: return widened<std::uint8_t>(column);
    case ElementType::int16: return widened<std::int16_t>(column);
    case ElementType::uint16: return widened<std::uint16_t>(column);
    case ElementType::int32: return widened<std::int32_t>(column);
    case ElementType::uint32: return widened<std::uint32_t>(column);
    case ElementType::int64: return widened<std::int64_t>(column);
    case ElementType::uint64: return widened<std::int64_t>(column);
    default: throw Error("the branch that counts its values is of " + column.type().name());
  }
}

}  // namespace

BranchReader::BranchReader(StoredBranch branch, TreeFile& file)
    : branch_{std::move(branch)}, file_{file} {
  starts_.reserve(branch_.baskets.size() + 1);
  for (const auto& basket : branch_.baskets) {
    starts_.push_back(basket.first_entry);
  }
  starts_.push_back(branch_.n_entries);
  const auto& column = branch_.layout.column;
  form_ = branch_.layout.form;
  if (column && form_) {
    place_ = fixed_place(*form_);
  } else if (column && column->is_nested()) {
    form_ = std::make_shared<EntryForm>(form_of_nested(*column));
  }
  if (auto* room = file_.unpacked_room(); room != nullptr && !branch_.baskets.empty()) {
    kept_ = room->of(name_of_kept());
  } else if (auto* shared = file_.lane_baskets(); shared != nullptr && !branch_.baskets.empty()) {
    lanes_ = &shared->of(name_of_kept());
  }
}

/// Others read the branch in the same way if they have the same name for it. Places of baskets tell
/// branches of one name apart, types of columns what is checked of them.
std::string BranchReader::name_of_kept() const {
  const auto& column = branch_.layout.column;
  return file_.path() + '\n' + std::to_string(branch_.baskets.front().seek) + '\n' +
         branch_.layout.name + '\n' + (column ? column->name() : "");
}

void BranchReader::keep_only(std::shared_ptr<const EntryRanks> ranks) {
  ranks_ = std::move(ranks);
  std::ranges::transform(starts_, starts_.begin(), [&](auto entry) { return ranks_->rank(entry); });
  if (kept_) {
    kept_ = file_.unpacked_room()->of(name_of_kept() + "\nsome entries");
  }
}

std::size_t BranchReader::find(std::int64_t entry) const {
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), entry);
  if (after == starts_.begin() || after == starts_.end()) {
    throw InputError(file_.path() + ": branch " + branch_.layout.name + " has no entry " +
                     std::to_string(entry));
  }
  return static_cast<std::size_t>(after - starts_.begin()) - 1;
}

std::int64_t BranchReader::basket_end(std::int64_t entry) const { return starts_[find(entry) + 1]; }

const Basket& BranchReader::basket_at(std::int64_t entry) {
  if (basket_ == nullptr || !basket_->contains(entry)) {
    load(find(entry));
  }
  return *basket_;
}

bool BranchReader::has_unpacked(std::int64_t entry) const {
  return (basket_ != nullptr && basket_->contains(entry)) || (kept_ && kept_->has(find(entry)));
}

void BranchReader::forget() {
  basket_ = nullptr;
  shared_ = {};
  own_ = {};
  next_ = {};
  n_of_next_ = 0;
  record_ = {};
  next_record_ = {};
  values_ = {};
  form_values_ = {};
}

void BranchReader::load(std::size_t number) {
  basket_ = nullptr;
  if (is_of_other_blocks(number)) {
    shared_ = lanes_->get(number, [&] {
      unpack(number);
      return std::exchange(own_, {});
    });
    basket_ = &shared_->basket;
    return;
  }
  if (!kept_) {
    shared_ = {};
    unpack(number);
    basket_ = &own_.basket;
    return;
  }
  shared_ = kept_->get(number, [&] {
    unpack(number);
    return ranks_ ? only(*ranks_, own_) : std::exchange(own_, {});
  });
  basket_ = &shared_->basket;
}

/// Whether another lane may need this basket as well: it does not lie within what is being read.
bool BranchReader::is_of_other_blocks(std::size_t number) const {
  return lanes_ != nullptr && !ranks_ && wanted_end_ > 0 &&
         (starts_[number] < wanted_first_ || starts_[number + 1] > wanted_end_);
}

void BranchReader::unpack(std::size_t number) {
  const auto& stored = branch_.baskets[number];
  file_.reading_again({stored.seek, stored.n_bytes}, [&] { unpack(number, stored); });
}

/// Reads a basket into `own_`.
void BranchReader::unpack(std::size_t number, const StoredBasket& stored) {
  try {
    if (n_of_next_ == number && number > 0) {
      std::swap(own_, next_);
      n_of_next_ = 0;
    } else if (stored.seek == 0) {
      load_from_tree(stored);
    } else {
      load_from_file(number);
    }
    if (own_.basket.lacks_offsets) {
      make_offsets(stored);
    }
    check_entries(own_.basket, branch_.layout);
  } catch (const InputError&) {
    throw;
  } catch (const std::exception& error) {  // memory for a damaged size may be more than there is
    throw_damaged(file_, branch_.layout.name, stored.first_entry, error.what());
  }
  own_.basket.first_entry = stored.first_entry;
}

std::span<const std::byte> BranchReader::read_record(const StoredBasket& stored, Bytes& record) {
  file_.read(stored.seek, record.resize(static_cast<std::size_t>(stored.n_bytes)));
  static_cast<void>(checked_header(record.view(), stored, branch_));
  if (branch_.has_checksums() && !has_checksum(record.view())) {
    file_.read_verified(stored.seek, record.view());
    static_cast<void>(checked_header(record.view(), stored, branch_));
  }
  return record.view();
}

void BranchReader::load_from_file(std::size_t number) {
  const auto record = read_record(branch_.baskets[number], record_);
  if (!load_two(number)) {
    decode_basket(record, branch_.layout.has_offsets, own_.memory, own_.basket);
  }
}

/// With the next one, if it is wanted as well: two take less time together. What is wrong with it
/// is told once it is its turn.
bool BranchReader::load_two(std::size_t number) {
  const auto next = number + 1;
  if (kept_ || next >= branch_.baskets.size() || starts_[next] >= wanted_end_ ||
      branch_.baskets[next].seek == 0 || is_of_other_blocks(next) ||
      !is_zlib_basket(record_.view())) {
    return false;
  }
  n_of_next_ = 0;
  try {
    const auto record = read_record(branch_.baskets[next], next_record_);
    if (!decode_both({record_.view(), own_.memory, own_.basket},
                     {record, next_.memory, next_.basket}, branch_.layout.has_offsets)) {
      return false;
    }
  } catch (const std::exception&) {  // passed over: whichever it is, it is found again by itself
    return false;
  }
  n_of_next_ = next;
  return true;
}

void BranchReader::load_from_tree(const StoredBasket& stored) {
  const auto& [n_entries, entries, offsets] = branch_.of_tree.at(stored.number);
  if (n_entries != stored.n_entries) {
    throw Error("a basket has " + counted(n_entries, "entry", "entries") + " where the tree says " +
                std::to_string(stored.n_entries));
  }
  const auto data = own_.memory.resize(entries.size());
  std::ranges::copy(entries, data.begin());
  own_.basket.data = data;
  own_.basket.n_entries = static_cast<std::int32_t>(stored.n_entries);
  own_.basket.offsets = offsets;
  own_.basket.lacks_offsets = offsets.empty() && branch_.layout.has_offsets && n_entries > 0;
  if (offsets.empty() && !own_.basket.lacks_offsets) {
    set_entry_size(own_.basket);
  }
}

/// Computes the offsets of a basket without any from its counter branch.
void BranchReader::make_offsets(const StoredBasket& stored) {
  const auto& layout = branch_.layout;
  if (!layout.column || layout.counter.empty()) {
    throw Error("a basket has no offsets of its entries, and no branch counts their values");
  }
  if (!counts_) {
    counts_ = std::make_unique<BranchReader>(branch_.tree->branch(layout.counter), file_);
  }
  Column counts;
  counts_->read(stored.first_entry, stored.first_entry + stored.n_entries, counts);
  const auto n_in_value = layout.form && layout.form->value->kind == ValueForm::Kind::packed
                              ? layout.form->value->packing.n_bytes()
                              : size_of(layout.column->element);
  const auto item = static_cast<std::int64_t>(n_in_value * layout.column->n_in_item());
  const auto n_bytes = static_cast<std::int64_t>(own_.basket.data.size());
  own_.basket.offsets.assign(1, 0);
  std::int64_t end = 0;
  for (const auto count : integers_of(counts)) {
    end += count * item;
    if (count < 0 || end > n_bytes) {
      break;
    }
    own_.basket.offsets.push_back(static_cast<std::int32_t>(end));
  }
  if (end != n_bytes || std::cmp_not_equal(own_.basket.offsets.size(), stored.n_entries + 1)) {
    throw Error("its entries do not have as many values as branch " + layout.counter + " counts");
  }
  own_.basket.lacks_offsets = false;
}

void BranchReader::for_each_basket(
    std::int64_t first, std::int64_t last,
    const std::function<void(const Basket&, std::int64_t, std::int64_t)>& use) {
  wanted_first_ = first;
  wanted_end_ = last;
  while (first < last) {
    const Basket& basket = basket_at(first);
    const auto end = std::min(last, basket.first_entry + basket.n_entries);
    use(basket, first, end);
    first = end;
  }
}

void BranchReader::read(std::int64_t first, std::int64_t last, Column& into) {
  into.reset(*branch_.layout.column);
  if (place_) {
    read_fixed(first, last, into);
  } else if (form_) {
    read_form(first, last, into);
  } else if (branch_.layout.column->shape == Shape::scalar) {
    read_scalars(first, last, into);
  } else {
    read_jagged(first, last, into);
  }
}

void BranchReader::add_parts(std::int64_t first, std::int64_t last,
                             std::vector<StoredPart>& to) const {
  const auto& baskets = branch_.baskets;
  auto at = std::ranges::upper_bound(baskets, first, {}, &StoredBasket::first_entry);
  for (at = at == baskets.begin() ? at : at - 1; at != baskets.end(); ++at) {
    const auto& basket = *at;
    if (basket.first_entry >= last) {
      break;
    }
    if (basket.seek != 0) {
      to.push_back({basket.first_entry, {basket.seek, basket.n_bytes, branch_.has_checksums()}});
    }
  }
}

void BranchReader::read_scalars(std::int64_t first, std::int64_t last, Column& into) {
  const auto size = size_of(branch_.layout.column->element);
  const auto n_in_item = branch_.layout.column->n_in_item();
  auto* to = into.resize_values(static_cast<std::size_t>(last - first) * n_in_item);
  for_each_basket(first, last, [&](const Basket& basket, std::int64_t from, std::int64_t end) {
    const auto bytes = basket.entries(from, end);
    const auto n = static_cast<std::size_t>(end - from) * n_in_item;
    if (bytes.size() != n * size) {
      throw InputError(file_.path() + ": branch " + branch_.layout.name +
                       " does not have one value per entry");
    }
    swap_copy(to, bytes.data(), n, size);
    to += bytes.size();
  });
}

/// Numbers at the same place of each entry, of leaves for instance.
void BranchReader::read_fixed(std::int64_t first, std::int64_t last, Column& into) {
  const auto size = size_of(branch_.layout.column->element);
  const auto n_values = static_cast<std::size_t>(last - first) * place_->n_bytes / size;
  auto* to = into.resize_values(n_values);
  for_each_basket(first, last, [&](const Basket& basket, std::int64_t from, std::int64_t end) {
    const auto entries = basket.entries(from, end);
    if (entries.size() != static_cast<std::size_t>(end - from) * place_->n_entry_bytes) {
      throw_damaged(file_, branch_.layout.name, from, "an entry has another size than its values");
    }
    for (std::size_t at = place_->offset; at < entries.size(); at += place_->n_entry_bytes) {
      swap_copy(to, &entries[at], place_->n_bytes / size, size);
      to += place_->n_bytes;
    }
  });
}

void BranchReader::read_jagged(std::int64_t first, std::int64_t last, Column& into) {
  const auto size = size_of(branch_.layout.column->element);
  auto offsets = into.resize_offsets(static_cast<std::size_t>(last - first));
  offsets[0] = 0;
  const bool is_one_basket = first < last && basket_end(first) >= last;
  values_.clear();
  if (!is_one_basket) {
    values_.reserve(values_hint(first, last));
  }
  for_each_basket(first, last, [&](const Basket& basket, std::int64_t from, std::int64_t end) {
    const auto n = static_cast<std::size_t>(end - from);
    fill_offsets(basket, from, offsets.first(n + 1));
    const auto n_values =
        static_cast<std::size_t>(offsets[n] - offsets[0]) * branch_.layout.column->n_in_item();
    copy_values(basket, from, end,
                is_one_basket ? into.resize_values(n_values) : values_.extend(n_values * size));
    offsets = offsets.subspan(n);
  });
  if (!is_one_basket) {
    auto* to = into.resize_values(values_.size() / size);
    std::copy_n(values_.view().data(), values_.size(), to);
  }
}

void BranchReader::read_form(std::int64_t first, std::int64_t last, Column& into) {
  const auto n_events = static_cast<std::size_t>(last - first);
  form_values_.begin(*form_, *branch_.layout.column, n_events);
  for_each_basket(first, last, [&](const Basket& basket, std::int64_t from, std::int64_t end) {
    try {
      for (; from < end; ++from) {
        form_values_.add(basket.entries(from, from + 1));
      }
    } catch (const Error& error) {
      throw NotAsDescribed(at_basket(file_, branch_.layout.name, from, error.what()));
    }
  });
  form_values_.fill(into);
}

/// Bytes that the values of some entries take by the tree's own account, as far as it is plausible.
std::size_t BranchReader::values_hint(std::int64_t first, std::int64_t last) const {
  const auto n_told = static_cast<double>(branch_.n_told_bytes);
  const auto part = static_cast<double>(last - first) / static_cast<double>(branch_.n_entries);
  constexpr double usual_ratio = 64;
  const auto hint = std::min(n_told * part, usual_ratio * static_cast<double>(file_.size()));
  return hint > 0 ? static_cast<std::size_t>(hint) : 0;
}

/// Continues from offsets[0]. `check_entries` has seen that all are whole numbers of values.
void BranchReader::fill_offsets(const Basket& basket, std::int64_t from,
                                std::span<std::int64_t> offsets) const {
  const auto header = static_cast<std::int64_t>(branch_.layout.header_bytes);
  const auto item = size_of(branch_.layout.column->element) * branch_.layout.column->n_in_item();
  const auto* at = basket.offsets.data() + (from - basket.first_entry);
  if (!std::has_single_bit(item)) {
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
      offsets[i + 1] = offsets[i] + (at[i + 1] - at[i] - header) / static_cast<std::int64_t>(item);
    }
    return;
  }
  const auto shift = std::countr_zero(item);
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    offsets[i + 1] = offsets[i] + ((at[i + 1] - at[i] - header) >> shift);
  }
}

void BranchReader::copy_values(const Basket& basket, std::int64_t from, std::int64_t end,
                               std::byte* to) const {
  const auto size = size_of(branch_.layout.column->element);
  const auto header = branch_.layout.header_bytes;
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
