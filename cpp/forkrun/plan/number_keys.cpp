#include <forkrun/plan/number_keys.hpp>

#include <bit>
#include <cstddef>

namespace forkrun {

namespace {

constexpr std::int64_t none = -1;

/// Numbers of keys by hash; keys are compared in the sequence itself.
class NumberTable {
 public:
  NumberTable(std::span<const std::uint64_t> keys, const std::vector<std::int64_t>& first)
      : keys_{keys}, first_{first} {}

  /// Slot of a key's number, or its slot to be.
  std::int64_t& at(std::uint64_t key) {
    auto place = hash(key);
    while (numbers_[place] != none && key_of(numbers_[place]) != key) {
      place = (place + 1) & (numbers_.size() - 1);
    }
    return numbers_[place];
  }
  [[nodiscard]] bool is_full() const { return 2 * first_.size() >= numbers_.size(); }
  void grow() {
    numbers_.assign(4 * numbers_.size(), none);
    for (std::size_t number = 0; number < first_.size(); ++number) {
      at(key_of(static_cast<std::int64_t>(number))) = static_cast<std::int64_t>(number);
    }
  }

 private:
  [[nodiscard]] std::uint64_t key_of(std::int64_t number) const {
    return keys_[static_cast<std::size_t>(first_[static_cast<std::size_t>(number)])];
  }
  /// Fibonacci hashing: consecutive keys lie far from each other.
  [[nodiscard]] std::size_t hash(std::uint64_t key) const {
    return (key * 0x9e3779b97f4a7c15U) >> (64 - std::countr_zero(numbers_.size()));
  }

  std::span<const std::uint64_t> keys_;
  const std::vector<std::int64_t>& first_;
  std::vector<std::int64_t> numbers_ = std::vector<std::int64_t>(1024, none);
};

}  // namespace

NumberedKeys number_keys(std::span<const std::uint64_t> keys) {
  NumberedKeys found;
  found.number.reserve(keys.size());
  NumberTable table{keys, found.first};
  for (std::size_t place = 0; place < keys.size(); ++place) {
    if (place > 0 && keys[place] == keys[place - 1]) {
      found.number.push_back(found.number.back());
      continue;
    }
    if (table.is_full()) {
      table.grow();
    }
    auto& number = table.at(keys[place]);
    if (number == none) {
      number = static_cast<std::int64_t>(found.first.size());
      found.first.push_back(static_cast<std::int64_t>(place));
    }
    found.number.push_back(number);
  }
  return found;
}

}  // namespace forkrun
