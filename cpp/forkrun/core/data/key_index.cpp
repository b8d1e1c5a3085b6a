#include <forkrun/core/data/key_index.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include <forkrun/core/data/errors.hpp>

namespace forkrun {

namespace {

constexpr std::size_t most_entries = std::numeric_limits<std::uint32_t>::max() - 1;
constexpr std::size_t slots_for_entry = 2;
/// Number of entries looked up together: their slots are fetched from memory at the same time.
constexpr std::size_t at_once = 32;

std::size_t hash_of(std::span<const std::uint64_t> keys) {
  std::uint64_t hash = 0;
  for (const auto key : keys) {
    hash = (hash ^ key) * 0x9E3779B97F4A7C15U;  // 2^64 over the golden ratio
    hash ^= hash >> 32U;
  }
  return hash;
}

}  // namespace

void KeyPartners::add(std::int64_t place, std::int64_t its_partner) {
  if (!first.empty()) {
    const auto n = place - first.back();
    const bool is_same = its_partner == partner.back();
    if (n == 1) {  // one entry fits a range of either kind
      repeats.back() = is_same;
    }
    const bool is_next = partner.back() >= 0 && its_partner == partner.back() + n;
    if (repeats.back() != 0 ? is_same : is_next) {
      return;
    }
  }
  first.push_back(place);
  partner.push_back(its_partner);
  repeats.push_back(0);
}

bool KeyIndex::is(std::int64_t entry, Row keys) const {
  return static_cast<std::size_t>(entry) < n_entries_ &&
         std::ranges::equal(row(static_cast<std::size_t>(entry)), keys);
}

bool KeyIndex::is_repeated(std::int64_t entry) const {
  return !repeated_.empty() && repeated_[static_cast<std::size_t>(entry)];
}

void KeyIndex::add(KeyColumns keys) {
  const auto n = keys[0].size();
  if (n > most_entries - n_entries_) {
    throw Error("an index has room for " + std::to_string(most_entries) + " entries");
  }
  keys_.resize((n_entries_ + n) * n_keys_);
  for (std::size_t k = 0; k < n_keys_; ++k) {
    auto* to = &keys_[n_entries_ * n_keys_ + k];
    for (std::size_t i = 0; i < n; ++i) {
      to[i * n_keys_] = keys[k][i];
    }
  }
  const auto n_before = n_entries_;
  n_entries_ += n;
  if (!repeated_.empty()) {
    repeated_.resize(n_entries_);
  }
  const bool is_full = slots_.size() < slots_for_entry * n_entries_;
  if (is_full) {
    slots_.assign(std::bit_ceil(slots_for_entry * n_entries_), 0);
  }
  for (auto entry = is_full ? 0 : n_before; entry < n_entries_; ++entry) {
    if (entry + at_once < n_entries_) {
      __builtin_prefetch(&slots_[slot_of(row(entry + at_once))], 1);
    }
    insert(entry);
  }
}

std::size_t KeyIndex::slot_of(Row keys) const { return hash_of(keys) & (slots_.size() - 1); }

/// The first of several entries with the same keys has the slot.
void KeyIndex::insert(std::size_t entry) {
  const auto keys = row(entry);
  const auto mask = slots_.size() - 1;
  auto slot = slot_of(keys);
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    const std::size_t other = slots_[slot] - 1;
    if (std::ranges::equal(row(other), keys)) {
      repeated_.resize(n_entries_);
      repeated_[other] = repeated_[entry] = true;
      return;
    }
  }
  slots_[slot] = static_cast<std::uint32_t>(entry + 1);
}

std::int64_t KeyIndex::find(Row keys) const {
  if (slots_.empty()) {
    return KeyPartners::none;
  }
  const auto mask = slots_.size() - 1;
  for (auto slot = slot_of(keys); slots_[slot] != 0; slot = (slot + 1) & mask) {
    const std::size_t entry = slots_[slot] - 1;
    if (std::ranges::equal(row(entry), keys)) {
      return static_cast<std::int64_t>(entry);
    }
  }
  return KeyPartners::none;
}

/// Prefetches the slots of these rows.
void KeyIndex::fetch(Row rows) const {
  if (slots_.empty()) {
    return;
  }
  std::array<std::size_t, at_once> slots{};
  const auto n = rows.size() / n_keys_;
  for (std::size_t i = 0; i < n; ++i) {
    slots.at(i) = slot_of(rows.subspan(i * n_keys_, n_keys_));
    __builtin_prefetch(&slots_[slots.at(i)]);
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (const std::size_t number = slots_[slots.at(i)]; number != 0) {
      __builtin_prefetch(&keys_[(number - 1) * n_keys_]);
    }
  }
}

KeyPartners KeyIndex::partners(KeyColumns keys, Rule rule) const {
  KeyPartners found;
  std::vector<std::uint64_t> rows(at_once * n_keys_);
  std::int64_t last = KeyPartners::none;
  std::size_t n_looked_up = 0;
  for (std::size_t begin = 0; begin < keys[0].size(); begin += at_once) {
    const auto n = std::min(at_once, keys[0].size() - begin);
    for (std::size_t k = 0; k < n_keys_; ++k) {
      for (std::size_t i = 0; i < n; ++i) {
        rows[i * n_keys_ + k] = keys[k][begin + i];
      }
    }
    if (n_looked_up > at_once / 4) {
      fetch(Row{rows}.first(n * n_keys_));
    }
    n_looked_up = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const auto wanted = Row{rows}.subspan(i * n_keys_, n_keys_);
      // Mostly the next one; in tables with a row for many events, the same one.
      auto partner = last + 1;
      if (!is(partner, wanted) || is_repeated(partner)) {
        const bool is_last = last >= 0 && is(last, wanted);
        n_looked_up += is_last ? 0 : 1;
        partner = is_last ? last : find(wanted);
      }
      last = partner >= 0 ? partner : last;
      const bool is_one = rule == Rule::first || partner < 0 || !is_repeated(partner);
      found.add(static_cast<std::int64_t>(begin + i), is_one ? partner : KeyPartners::several);
    }
  }
  return found;
}

}  // namespace forkrun
