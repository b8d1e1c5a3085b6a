#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <forkrun/core/module/module.hpp>
#include <forkrun/core/schedule/schedule.hpp>

namespace forkrun::testing {

/// Modules whose one step is a function; so a test says in one place what is declared and done.
class FunctionProducer : public Producer {
 public:
  using Function = std::function<void(const EventBlock&)>;
  explicit FunctionProducer(Function function) : function_{std::move(function)} {}
  void produce(const EventBlock& block) override { function_(block); }

 private:
  Function function_;
};

class FunctionFilter : public Filter {
 public:
  using Function = std::function<void(const EventBlock&, std::span<std::uint8_t>)>;
  explicit FunctionFilter(Function function) : function_{std::move(function)} {}
  void filter(const EventBlock& block, std::span<std::uint8_t> accept) override {
    function_(block, accept);
  }

 private:
  Function function_;
};

/// The same for those that see the events left; the mask is empty where all are.
class LeftProducer : public Producer {
 public:
  using Function = std::function<void(const EventBlock&, Mask)>;
  explicit LeftProducer(Function function) : function_{std::move(function)} {}
  void produce(const EventBlock& block) override { function_(block, {}); }
  void produce_left(const EventBlock& block, Mask left) override { function_(block, left); }

 private:
  Function function_;
};

class LeftFilter : public Filter {
 public:
  using Accept = std::span<std::uint8_t>;
  using Function = std::function<void(const EventBlock&, Mask, Accept)>;
  explicit LeftFilter(Function function) : function_{std::move(function)} {}
  void filter(const EventBlock& block, Accept accept) override { function_(block, {}, accept); }
  void filter_left(const EventBlock& block, Mask left, Accept accept) override {
    function_(block, left, accept);
  }

 private:
  Function function_;
};

class FunctionCoroutineProducer : public CoroutineProducer {
 public:
  using Function = std::function<Coroutine(const CoroutineBlock&)>;
  explicit FunctionCoroutineProducer(Function function) : function_{std::move(function)} {}
  Coroutine produce(const CoroutineBlock& block) override { return function_(block); }

 private:
  Function function_;
};

class FunctionCoroutineFilter : public CoroutineFilter {
 public:
  using Function = std::function<Coroutine(const CoroutineBlock&, std::span<std::uint8_t>)>;
  explicit FunctionCoroutineFilter(Function function) : function_{std::move(function)} {}
  Coroutine filter(const CoroutineBlock& block, std::span<std::uint8_t> accept) override {
    return function_(block, accept);
  }

 private:
  Function function_;
};

class FunctionAnalyzer : public Analyzer {
 public:
  using Function = std::function<void(const EventBlock&, Mask)>;
  explicit FunctionAnalyzer(Function function) : function_{std::move(function)} {}
  void analyze(const EventBlock& block, Mask selected) override { function_(block, selected); }

 private:
  Function function_;
};

/// A producer or filter of the functions above that has part of its work done outside.
template <typename Base>
class WithOutside : public Base, public External {
 public:
  using Acquire = std::function<void(const EventBlock&, ExternalWork)>;
  WithOutside(Base::Function function, Acquire acquire)
      : Base{std::move(function)}, acquire_{std::move(acquire)} {}
  void acquire(const EventBlock& block, ExternalWork work) override {
    acquire_(block, std::move(work));
  }

 private:
  Acquire acquire_;
};

/// Keeps the numbers of the events it wrote, and what became of its units.
class MemoryOutput : public OutputModule {
 public:
  struct Record {
    std::vector<std::uint64_t> events{};
    std::vector<std::int64_t> values{};      ///< of the products, event by event
    std::vector<std::uint64_t> sequences{};  ///< of all blocks, also those without events
    std::vector<std::string> opened{};
    int n_closed{};
    int n_abandoned{};
  };
  /// Called before each write.
  using Function = std::function<void(const EventBlock&, Mask, Parallel&)>;

  MemoryOutput(Record& record, std::vector<ScalarInput<std::int64_t>> inputs,
               Function function = {})
      : record_{record}, inputs_{std::move(inputs)}, function_{std::move(function)} {}

  void open(const UnitOfWork& /*unit*/, const std::string& path) override {
    record_.opened.push_back(path);
    written_ = {};
  }
  void write(const EventBlock& block, Mask selected, Parallel& parallel) override {
    if (function_) {
      function_(block, selected, parallel);
    }
    record_.sequences.push_back(block.sequence());
    for (std::size_t i = 0; i < selected.size(); ++i) {
      if (selected[i] != 0) {
        written_.add(block.lumi_of(i), block.events().subspan(i, 1));
        record_.events.push_back(block.events()[i]);
        for (const auto& input : inputs_) {
          record_.values.push_back(block.get(input)[i]);
        }
      }
    }
  }
  OutputSummary close(Parallel& /*parallel*/) override {
    ++record_.n_closed;
    return {"", record_.opened.back(), written_, 0};
  }
  void abandon() noexcept override { ++record_.n_abandoned; }

 private:
  Record& record_;
  std::vector<ScalarInput<std::int64_t>> inputs_;
  Function function_;
  EventDigest written_;
};

}  // namespace forkrun::testing
