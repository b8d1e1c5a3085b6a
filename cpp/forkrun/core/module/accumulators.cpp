#include <forkrun/core/module/accumulators.hpp>

#include <cmath>

#include <forkrun/core/data/errors.hpp>

namespace forkrun {

void ExactNumber::add(std::int64_t value) {
  if (__builtin_add_overflow(whole_, value, &whole_)) {
    throw Error{"a sum of whole numbers does not fit into 64 bits; add them as double"};
  }
}

void ExactNumber::add(double value) {
  is_float_ = true;
  sums_.add(0, {&value, 1});
}

/// Subtracts the rounded sum until nothing is left: each part has 53 more bits.
AccumulatedNumber ExactNumber::value() const {
  AccumulatedNumber number{whole_, {}, is_float_};
  auto rest = sums_;
  for (auto part = rest.rounded()[0]; part != 0; part = rest.rounded()[0]) {
    number.parts.push_back(part);
    if (!std::isfinite(part)) {
      break;
    }
    part = -part;
    rest.add(0, {&part, 1});
  }
  return number;
}

void CountSum::add(std::int64_t value) {
  const std::scoped_lock lock{mutex()};
  number_.add(value);
}

AccumulatedValue CountSum::value() const { return number_.value(); }

void ExactSum::add(double value) {
  const std::scoped_lock lock{mutex()};
  number_.add(value);
}

AccumulatedValue ExactSum::value() const {
  auto number = number_.value();
  number.is_float = true;
  return number;
}

ExactNumber& SumTable::at(std::string_view key) {
  const auto found = numbers_.find(key);
  return found != numbers_.end() ? found->second : numbers_[std::string{key}];
}

AccumulatedValue SumTable::value() const {
  AccumulatedTable table;
  for (const auto& [key, number] : numbers_) {
    table.emplace(key, number.value());
  }
  return table;
}

void ValueList::add(ListedValue value) {
  if (const auto* number = std::get_if<double>(&value);
      number != nullptr && !std::isfinite(*number)) {
    throw Error{"list \"" + name() + "\": " + std::to_string(*number) +
                " cannot be accumulated in a list, only finite numbers and texts"};
  }
  const std::scoped_lock lock{mutex()};
  values_.push_back(std::move(value));
}

AccumulatedValue ValueList::value() const { return values_; }

}  // namespace forkrun
