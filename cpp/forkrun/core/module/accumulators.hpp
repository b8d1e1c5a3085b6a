#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <forkrun/histograms/exact_sums.hpp>

namespace forkrun {

/// A sum in committed form: whole numbers, and floating-point numbers with exactly the sum of all
/// that were added.
struct AccumulatedNumber {
  std::int64_t whole{};
  std::vector<double> parts{};
  bool is_float{};
};
using AccumulatedTable = std::map<std::string, AccumulatedNumber, std::less<>>;
using ListedValue = std::variant<std::int64_t, double, std::string>;
using AccumulatedValue =
    std::variant<AccumulatedNumber, AccumulatedTable, std::vector<ListedValue>>;

/// A sum of an analyzer over events, from `Construction::accumulates`; emptied at the begin of each
/// unit. Threads may add at the same time.
class Accumulator {
 public:
  explicit Accumulator(std::string name) : name_{std::move(name)} {}
  Accumulator(const Accumulator&) = delete;
  Accumulator& operator=(const Accumulator&) = delete;
  virtual ~Accumulator() = default;

  [[nodiscard]] const std::string& name() const { return name_; }
  /// Whether the value depends on the order of events.
  [[nodiscard]] virtual bool is_ordered() const { return false; }
  /// Value since `clear`.
  [[nodiscard]] virtual AccumulatedValue value() const = 0;
  virtual void clear() = 0;

 protected:
  std::mutex& mutex() const { return mutex_; }

 private:
  std::string name_;
  mutable std::mutex mutex_;
};

/// A sum of whole and floating-point numbers without rounding; not an accumulator itself.
class ExactNumber {
 public:
  /// \throws Error if the sum of whole numbers does not fit into 64 bits
  void add(std::int64_t value);
  void add(double value);
  [[nodiscard]] AccumulatedNumber value() const;

 private:
  std::int64_t whole_{};
  ExactSums sums_{1, 1};
  bool is_float_{};
};

/// A sum of whole numbers.
class CountSum : public Accumulator {
 public:
  using Accumulator::Accumulator;
  /// \throws Error if the sum of a unit does not fit into 64 bits
  void add(std::int64_t value = 1);
  [[nodiscard]] AccumulatedValue value() const override;
  void clear() override { number_ = {}; }

 private:
  ExactNumber number_;
};

/// A sum of floating-point numbers, rounded once, at the end of the job.
class ExactSum : public Accumulator {
 public:
  using Accumulator::Accumulator;
  void add(double value);
  /// Adds each of these values.
  template <typename T>
    requires std::is_arithmetic_v<T>
  void add(std::span<const T> values) {
    const std::scoped_lock lock{mutex()};
    for (const auto value : values) {
      number_.add(static_cast<double>(value));
    }
  }
  [[nodiscard]] AccumulatedValue value() const override;
  void clear() override { number_ = {}; }

 private:
  ExactNumber number_;
};

/// Sums by name.
class SumTable : public Accumulator {
 public:
  using Accumulator::Accumulator;
  template <typename T>
    requires std::is_arithmetic_v<T>
  void add(std::string_view key, T value) {
    using Number = std::conditional_t<std::floating_point<T>, double, std::int64_t>;
    const std::scoped_lock lock{mutex()};
    at(key).add(static_cast<Number>(value));
  }
  [[nodiscard]] AccumulatedValue value() const override;
  void clear() override { numbers_.clear(); }

 private:
  ExactNumber& at(std::string_view key);

  std::map<std::string, ExactNumber, std::less<>> numbers_;
};

/// Numbers and texts in the order of the input.
class ValueList : public Accumulator {
 public:
  using Accumulator::Accumulator;
  void add(ListedValue value);
  [[nodiscard]] bool is_ordered() const override { return true; }
  [[nodiscard]] AccumulatedValue value() const override;
  void clear() override { values_.clear(); }

 private:
  std::vector<ListedValue> values_;
};

}  // namespace forkrun
