#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

#include <forkrun/core/data/parameters.hpp>
#include <forkrun/core/data/unit_of_work.hpp>
#include <forkrun/core/module/accumulators.hpp>
#include <forkrun/core/module/binned_table.hpp>
#include <forkrun/core/module/block.hpp>
#include <forkrun/core/module/conditions.hpp>
#include <forkrun/core/module/coroutine.hpp>
#include <forkrun/core/module/external_work.hpp>
#include <forkrun/histograms/histogram_of.hpp>

namespace forkrun {

/// Number of blocks that a module may work on at once.
enum class Concurrency : std::uint8_t {
  reentrant,  ///< any number
  one,        ///< one block at a time
  unsafe,     ///< never together with any other unsafe module
  limited,    ///< a given number of blocks at a time
};

/// Number of objects of a module in one process.
enum class Instances : std::uint8_t {
  shared,     ///< one for all blocks
  per_block,  ///< one per concurrent block, made by `clone`
};

class Construction;

/// Base of all modules. Modules are constructed once, in the parent, and live in every child.
/// The callbacks below come from one thread at a time, never while a block is being processed.
class Module {
 public:
  virtual ~Module() = default;

  /// Makes a further object of this module, for Instances::per_block: mostly `return
  /// std::make_unique<Calibrator>(*this);`. Called in the child, before `begin_job`; the object
  /// gets all callbacks from then on. Null: there can be only one.
  [[nodiscard]] virtual std::unique_ptr<Module> clone() const { return nullptr; }

  virtual void pre_fork() {}
  virtual void post_fork(int /*child*/) {}
  virtual void begin_job() {}
  virtual void end_job() {}
};

/// Second base of a module with transition callbacks: begin and end of the runs, lumis and IOVs of
/// its child. Each begins before its first block and ends after its last; a lumi is in one run and
/// one IOV, a run may be in several IOVs and an IOV in several runs; where its blocks are committed
/// apart, it begins and ends for each part. Callbacks and blocks of different lumis never mix.
class Transitions {
 public:
  virtual ~Transitions() = default;
  virtual void begin_iov(std::uint32_t /*iov*/) {}
  virtual void end_iov(std::uint32_t /*iov*/) {}
  virtual void begin_dataset(std::uint32_t /*dataset*/) {}
  virtual void end_dataset(std::uint32_t /*dataset*/) {}
  virtual void begin_run(std::uint32_t /*run*/) {}
  virtual void end_run(std::uint32_t /*run*/) {}
  virtual void begin_lumi(LumiId /*lumi*/) {}
  virtual void end_lumi(LumiId /*lumi*/) {}
  /// Whether everything that has begun ends before each commit: results of end callbacks are
  /// committed with their events, and survive a later crash of the child. False: anything that
  /// continues in the next unit stays open, for a module that only looks up values at begin
  /// callbacks.
  [[nodiscard]] virtual bool ends_with_commits() const { return true; }
};

/// Makes its products; runs at most once per block, and only if one of them is needed.
class Producer : public Module {
 public:
  virtual void produce(const EventBlock& block) = 0;
  /// Called instead, for a module that sees the events left (Construction::set_sees_events_left),
  /// if filters have refused some: values for refused events are never read.
  virtual void produce_left(const EventBlock& block, Mask /*left*/) { produce(block); }
};

/// Sets `accept` (all ones on entry) to 0 for the events that it refuses; (n_events,).
class Filter : public Module {
 public:
  virtual void filter(const EventBlock& block, std::span<std::uint8_t> accept) = 0;
  /// Called instead, for a module that sees the events left; its results for others are ignored.
  virtual void filter_left(const EventBlock& block, Mask /*left*/, std::span<std::uint8_t> accept) {
    filter(block, accept);
  }
};

/// A producer that may request products during its call, without holding a thread:
/// `const auto& hits = co_await block.get(hits_);`
class CoroutineProducer : public Module {
 public:
  virtual Coroutine produce(const CoroutineBlock& block) = 0;
};

/// A filter of that kind; see Filter.
class CoroutineFilter : public Module {
 public:
  virtual Coroutine filter(const CoroutineBlock& block, std::span<std::uint8_t> accept) = 0;
};

/// Second base of a producer or filter with external work.
class External {
 public:
  virtual ~External() = default;
  /// Starts the work and returns. Once `work` has been answered, from any thread, and this function
  /// has returned, `produce` or `filter` is called on a thread of the executor.
  virtual void acquire(const EventBlock& block, ExternalWork work) = 0;
};

/// Reads events. `selected`: events left by the filters before it on its path; an analyzer on no
/// path sees all. Called in block order, one block at a time, unless declared reentrant, so that
/// its sums do not depend on the number of threads.
class Analyzer : public Module {
 public:
  virtual void analyze(const EventBlock& block, Mask selected) = 0;
};

/// Lets an output module use idle threads for parts of its work.
class Parallel {
 public:
  virtual ~Parallel() = default;
  /// Calls body(0) … body(n - 1), in any order and on any threads, and returns when all are done.
  virtual void for_each(std::size_t n, const std::function<void(std::size_t)>& body) = 0;
};

/// On an end path: after all paths, writes the events that its paths accepted. Called in block
/// order, one block at a time, including blocks without selected events, whose products have not
/// been made. Different outputs may write different blocks at the same time, never the same one:
/// they share its lane of the source.
class OutputModule : public Module {
 public:
  /// Begin of a unit of work: make the temporary file.
  virtual void open(const UnitOfWork& unit, const std::string& path) = 0;
  virtual void write(const EventBlock& block, Mask selected, Parallel& parallel) = 0;
  /// End of a unit: everything is on disk (synced) when this returns.
  virtual OutputSummary close(Parallel& parallel) = 0;
  /// The unit failed: closes and removes its files. Never throws. Also called after a failed
  /// `open`, and after a `close` when another output could not be closed.
  virtual void abandon() noexcept = 0;
};

/// Functions to make and destroy one product of a lane, in given memory.
struct ProductType {
  std::type_index cpp_type;
  ColumnType column{};  ///< meaningful when cpp_type is Column
  std::size_t n_bytes;
  std::size_t alignment;
  void (*create)(void*, ColumnType);
  void (*destroy)(void*);
};

/// Interface of the core to a module's constructor: its label, its parameters, and declarations of
/// inputs and products. Problems (missing product, wrong type) are collected and reported together
/// when the schedule is compiled. After the constructor every call throws.
class Construction {
 public:
  /// Sizes of an array, the outermost first: `{4}`, `{2, 3}`.
  using Dimensions = std::array<std::uint32_t, ColumnType::most_dimensions>;

  virtual ~Construction() = default;

  [[nodiscard]] virtual const std::string& label() const = 0;
  [[nodiscard]] virtual const Parameters& parameters() const = 0;
  /// Default: reentrant for producers and filters, one for analyzers.
  virtual void set_concurrency(Concurrency concurrency) = 0;
  /// At most `n` blocks at a time, n >= 1.
  virtual void set_limit(std::uint32_t n_blocks) = 0;
  /// Default: shared.
  virtual void set_instances(Instances instances) = 0;
  /// The module is called with events of one lumi: `block.lumi()` is the lumi of all. Implied for
  /// modules with Transitions. For a block of several lumis it is called for each part, and its
  /// columns are joined again.
  virtual void set_one_lumi() = 0;
  /// A producer or filter is called with the events left by the filters before all its uses: before
  /// each path position that needs its products. Default: it sees all events of a block. For an
  /// analyzer: it reads the values of selected events only.
  virtual void set_sees_events_left() = 0;
  /// Declares an external resource that is not thread-safe, such as a library: modules with a
  /// resource of this name run one at a time.
  virtual void uses_resource(const std::string& name) = 0;

  template <typename T>
  Input<T> consumes(const std::string& name) {
    return {consume(name, cpp_product<T>())};
  }
  template <typename T>
  ScalarInput<T> consumes_scalar(const std::string& name) {
    return {consume_column(name, {element_type_of<T>, Shape::scalar})};
  }
  template <typename T>
  JaggedInput<T> consumes_jagged(const std::string& name) {
    return {consume_column(name, {element_type_of<T>, Shape::jagged})};
  }
  /// An array of fixed size per event: `consumes_fixed<float>("x", {4})`.
  template <typename T>
  FixedInput<T> consumes_fixed(const std::string& name, const Dimensions& dimensions) {
    return {consume_column(name, {element_type_of<T>, Shape::scalar, dimensions})};
  }
  /// Lists of lists; for `char`: texts. A column with one text per event is a jagged one of `char`.
  template <typename T>
  NestedInput<T> consumes_nested(const std::string& name) {
    return {consume_column(name, {element_type_of<T>, Shape::doubly_jagged})};
  }
  /// The same for products that the module may request during its calls.
  template <typename T>
  LazyInput<T> may_consume(const std::string& name) {
    return {{consume_lazily(name, cpp_product<T>())}, number()};
  }
  template <typename T>
  LazyScalarInput<T> may_consume_scalar(const std::string& name) {
    return {{consume_lazily(name, column_product({element_type_of<T>, Shape::scalar}))}, number()};
  }
  template <typename T>
  LazyJaggedInput<T> may_consume_jagged(const std::string& name) {
    return {{consume_lazily(name, column_product({element_type_of<T>, Shape::jagged}))}, number()};
  }
  template <typename T>
  Output<T> produces(const std::string& name) {
    return {produce(name, cpp_product<T>())};
  }
  template <typename T>
  ScalarOutput<T> produces_scalar(const std::string& name) {
    return {produce_column(name, {element_type_of<T>, Shape::scalar})};
  }
  template <typename T>
  JaggedOutput<T> produces_jagged(const std::string& name) {
    return {produce_column(name, {element_type_of<T>, Shape::jagged})};
  }

  template <typename T>
  FixedOutput<T> produces_fixed(const std::string& name, const Dimensions& dimensions) {
    return {produce_column(name, {element_type_of<T>, Shape::scalar, dimensions})};
  }
  template <typename T>
  NestedOutput<T> produces_nested(const std::string& name) {
    return {produce_column(name, {element_type_of<T>, Shape::doubly_jagged})};
  }

  /// Random numbers of the module, which depend on the job's seed and the module's label, or on a
  /// name: modules with the same name get the same numbers.
  [[nodiscard]] RandomKey random() { return random(label()); }
  [[nodiscard]] virtual RandomKey random(const std::string& name) = 0;

  /// An array of a condition: `block.condition(handle)(i, j)`. `name`: for a payload of several
  /// arrays.
  template <typename T>
  ConditionInput<ArrayView<T>> condition_array(const std::string& label,
                                               const std::string& name = {}) {
    return condition<ArrayView<T>>(
        label,
        [name](const ConditionPayload& payload) {
          return std::make_shared<ArrayView<T>>(payload.array(name));
        },
        name);
  }
  /// A table with a given number of coordinates: `block.condition(handle)(pt, eta)`.
  ConditionInput<BinnedTable> condition_table(const std::string& label, std::size_t n_coordinates);
  /// Any object that `make` makes of each payload, in the parent, before the fork; in the child for
  /// payloads excluded from prefetching. Modules that name the same label, type and key share it:
  /// many threads read it.
  template <typename T>
  ConditionInput<T> condition(const std::string& label,
                              std::function<std::shared_ptr<const T>(const ConditionPayload&)> make,
                              const std::string& key = {}) {
    return {consume_condition({label, typeid(T), key, std::move(make)})};
  }

  /// For callers that know the type only at run time (the Python side).
  virtual std::uint32_t consume_any_column(const std::string& name) = 0;
  std::uint32_t consume_column(const std::string& name, ColumnType type) {
    return consume(name, column_product(type));
  }
  std::uint32_t produce_column(const std::string& name, ColumnType type) {
    return produce(name, column_product(type));
  }

  /// Books a histogram of an analyzer; written with every unit, summed by the merge. The reference
  /// is valid as long as the module; emptied at the end of each unit. If the analyzer is reentrant,
  /// threads fill it at the same time.
  template <HistogramAxis... Axes>
  HistogramOf<Axes...>& book(const std::string& name, const std::string& title, Axes... axes) {
    return keep(std::make_unique<HistogramOf<Axes...>>(name, title, std::move(axes)...));
  }
  /// The same for means of samples.
  template <HistogramAxis... Axes>
  ProfileOf<Axes...>& book_profile(const std::string& name, const std::string& title,
                                   Axes... axes) {
    return keep(std::make_unique<ProfileOf<Axes...>>(name, title, std::move(axes)...));
  }

  /// Declares a sum of an analyzer other than a histogram: committed with every unit, summed by the
  /// merge, in `result.accumulators`. `Accumulated`: CountSum, ExactSum, SumTable or ValueList; the
  /// reference is valid as long as the module. A list needs an analyzer that is not reentrant.
  template <std::derived_from<Accumulator> Accumulated>
  Accumulated& accumulates(const std::string& name) {
    auto accumulator = std::make_unique<Accumulated>(name);
    auto& kept = *accumulator;
    keep_accumulator(std::move(accumulator));
    return kept;
  }

  [[nodiscard]] static ProductType column_product(ColumnType type);

 protected:
  virtual std::uint32_t consume(const std::string& name, const ProductType& type) = 0;
  virtual std::uint32_t consume_lazily(const std::string& name, const ProductType& type) = 0;
  virtual std::uint32_t produce(const std::string& name, const ProductType& type) = 0;
  virtual std::uint32_t consume_condition(ConditionObject object) = 0;
  virtual void keep_histogram(std::unique_ptr<Histogram> histogram) = 0;
  virtual void keep_accumulator(std::unique_ptr<Accumulator> accumulator) = 0;
  /// Number of the module in its job.
  [[nodiscard]] virtual std::uint32_t number() const = 0;

 private:
  template <typename Booked>
  Booked& keep(std::unique_ptr<Booked> histogram) {
    auto& booked = *histogram;
    keep_histogram(std::move(histogram));
    return booked;
  }
  template <typename T>
  static ProductType cpp_product() {
    return {typeid(T),
            {},
            sizeof(T),
            alignof(T),
            [](void* memory, ColumnType) { new (memory) T{}; },
            [](void* product) { static_cast<T*>(product)->~T(); }};
  }
};

/// Makes modules from the name of their class; filled by FORKRUN_REGISTER_MODULE when a plugin
/// library is loaded.
using ModuleFactory = std::unique_ptr<Module> (*)(Construction&);
void register_module_class(const std::string& class_name, ModuleFactory factory);
/// Registered names, sorted.
[[nodiscard]] std::vector<std::string> registered_module_classes();
/// nullptr if there is none with this name.
[[nodiscard]] ModuleFactory find_module_class(const std::string& class_name);
/// Loads a plugin library (dlopen). \throws Error with the loader's message.
void load_plugin(const std::string& path);

/// Whether a class has a callback of `Transitions` without that base: it would never be called.
template <typename Class>
concept MissesTransitions = !std::derived_from<Class, Transitions> &&
                            (requires { &Class::begin_iov; } || requires { &Class::end_iov; } ||
                             requires { &Class::begin_run; } || requires { &Class::end_run; } ||
                             requires { &Class::begin_lumi; } || requires { &Class::end_lumi; });

// NOLINTBEGIN(bugprone-macro-parentheses): the name of a class takes none.
#define FORKRUN_REGISTER_MODULE(Class)                                                   \
  static_assert(!::forkrun::MissesTransitions<Class>,                                    \
                #Class " has begin or end callbacks: make forkrun::Transitions a base"); \
  static const bool forkrun_registered_##Class = [] {                                    \
    ::forkrun::register_module_class(#Class, [](::forkrun::Construction& construction) { \
      return std::unique_ptr<::forkrun::Module>{new Class{construction}};                \
    });                                                                                  \
    return true;                                                                         \
  }()
// NOLINTEND(bugprone-macro-parentheses)

/// Whether filters have left an event. `left`: argument of `produce_left` and `filter_left`; empty:
/// all.
[[nodiscard]] inline bool is_left(Mask left, std::size_t event) {
  return left.empty() || left[event] != 0;
}

/// Calls `body(event)` for each event of the block that filters have left.
template <typename Body>
void for_each_left(const EventBlock& block, Mask left, Body body) {
  for (std::size_t event = 0; event < block.n_events(); ++event) {
    if (is_left(left, event)) {
      body(event);
    }
  }
}

}  // namespace forkrun
