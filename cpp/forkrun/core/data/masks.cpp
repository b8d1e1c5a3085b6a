#include <forkrun/core/data/masks.hpp>

#include <algorithm>
#include <bit>
#include <cstring>

namespace forkrun {

void Masks::make_room(std::size_t n_events) {
  n_events_ = n_events;
  n_words_ = (n_events + 7) / 8;
  if (n_words_ > stride_) {
    stride_ = (n_words_ + words_per_line - 1) / words_per_line * words_per_line;
    memory_.resize(n_masks_ * stride_);
    words_ = memory_.data();
  }
  // All of them: a smaller mask must be 0 after its last event.
  std::ranges::fill(memory_, std::uint64_t{0});
  std::ranges::fill((*this)[0], std::uint8_t{1});
}

void Masks::accept_none(std::size_t mask) const { std::fill_n(words(mask), n_words_, 0U); }

bool Masks::set_both(std::size_t mask, std::size_t a, std::size_t b) const {
  auto* const to = words(mask);
  std::uint64_t any = 0;
  for (std::size_t i = 0; i < n_words_; ++i) {
    to[i] = words(a)[i] & words(b)[i];
    any |= to[i];
  }
  return any != 0;
}

void Masks::add(std::size_t mask, std::size_t other) const {
  auto* const to = words(mask);
  for (std::size_t i = 0; i < n_words_; ++i) {
    to[i] |= words(other)[i];
  }
}

namespace {

/// Up to 64 bytes of a mask as bits, the first one lowest.
std::uint64_t bits_of(std::span<const std::uint8_t> mask) {
  constexpr std::size_t n_in_word = 8;
  constexpr std::uint64_t lowest_bits_to_highest_byte = 0x0102040810204080;
  std::uint64_t bits = 0;
  std::size_t event = 0;
  for (; event + n_in_word <= mask.size(); event += n_in_word) {
    std::uint64_t word{};
    std::memcpy(&word, &mask[event], n_in_word);
    bits |= (word * lowest_bits_to_highest_byte) >> 56U << event;
  }
  for (; event < mask.size(); ++event) {
    bits |= std::uint64_t{mask[event]} << event;
  }
  return bits;
}

}  // namespace

std::vector<EntryRun> runs_of(std::span<const std::uint8_t> mask) {
  constexpr std::size_t n_at_once = 64;
  std::vector<EntryRun> runs;
  std::uint64_t is_in_run = 0;
  for (std::size_t first = 0; first < mask.size(); first += n_at_once) {
    const auto bits = bits_of(mask.subspan(first, std::min(n_at_once, mask.size() - first)));
    for (auto changes = bits ^ (bits << 1U | is_in_run); changes != 0; changes &= changes - 1) {
      const auto event = static_cast<std::int64_t>(first) + std::countr_zero(changes);
      if (is_in_run == 0) {
        runs.push_back({event, event});
      } else {
        runs.back().last = event;
      }
      is_in_run ^= 1U;
    }
  }
  if (is_in_run != 0) {
    runs.back().last = static_cast<std::int64_t>(mask.size());
  }
  return runs;
}

namespace {

std::size_t n_in(std::span<const EntryRun> runs) {
  std::int64_t n = 0;
  for (const auto& [first, last] : runs) {
    n += last - first;
  }
  return static_cast<std::size_t>(n);
}

/// Copies the offsets of lists, and turns runs of lists into runs of their items.
void copy_offsets(std::span<const std::int64_t> from, std::span<std::int64_t> to,
                  std::span<EntryRun> runs) {
  auto* next = to.data();
  *next = 0;
  for (auto& [first, last] : runs) {
    const auto* const lists = &from[static_cast<std::size_t>(first)];
    const auto n = last - first;
    const auto shift = *next - *lists;
    for (std::int64_t i = 1; i <= n; ++i) {
      next[i] = lists[i] + shift;
    }
    next += n;
    first = lists[0];
    last = lists[n];
  }
}

}  // namespace

const EventsLeft::Lists& EventsLeft::lists_of(const Column& from) {
  const auto offsets = from.offsets();
  const auto known = std::ranges::find_if(
      known_, [&](const Lists& each) { return std::ranges::equal(each.from, offsets); });
  if (known != known_.end()) {
    return *known;
  }
  auto& lists = known_.emplace_back(offsets, Column{from.type()}, runs_);
  copy_offsets(offsets, lists.left.resize_offsets(n_in(runs_)), lists.items);
  return lists;
}

Column EventsLeft::gather(const Column& from) {
  const auto type = from.type();
  Column to{type};
  std::vector<EntryRun> inner;
  std::span<const EntryRun> runs = runs_;
  if (type.n_levels() > 0) {
    const auto& lists = lists_of(from);
    to.share_offsets(lists.left);
    runs = lists.items;
  }
  for (std::size_t level = 1; level < type.n_levels(); ++level) {
    inner.assign(runs.begin(), runs.end());
    copy_offsets(from.offsets(level), to.resize_offsets(n_in(runs), level), inner);
    runs = inner;
  }
  auto* out = to.resize_values(n_in(runs) * type.n_in_item());
  const auto n_bytes = static_cast<std::int64_t>(type.n_in_item() * size_of(type.element));
  const auto* const in = from.values<std::byte>().data();
  for (const auto& [first, last] : runs) {
    out = std::copy_n(in + first * n_bytes, (last - first) * n_bytes, out);
  }
  return to;
}

}  // namespace forkrun
