#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <forkrun/core/data/source.hpp>
#include <forkrun/core/module/module.hpp>

namespace forkrun {

/// Settings that override the module's own.
struct ConcurrencyOverride {
  std::optional<Concurrency> concurrency{};
  std::uint32_t limit = 1;  ///< of Concurrency::limited
  std::optional<Instances> instances{};
  std::vector<std::string> resources{};  ///< in addition to those that the module uses
};

/// Products that a module means by other names: a column has several versions where modules replace
/// it, and one for each systematic variation.
struct ProductVersions {
  std::map<std::string, std::string> consumed{};
  std::map<std::string, std::string> produced{};
};

struct ModuleDescription {
  std::string label;
  Parameters parameters;
  ConcurrencyOverride instead{};
  ProductVersions versions{};
};

/// Kind of a module, "producer", "filter", "analyzer" or "output", and names of its products.
struct ModuleProducts {
  std::string kind;
  std::vector<std::string> consumed;
  std::vector<std::string> produced;
};

struct PathDescription {
  std::string name;
  std::vector<std::string> labels;  ///< filters and analyzers, in order
};

struct OutputDescription {
  std::string label;
  std::vector<std::string> paths;     ///< none: every event
  std::vector<std::string> products;  ///< produced columns to write
};

struct Graph;
struct ModuleRecord;

/// A histogram with the label of the module that booked it.
struct BookedHistogram {
  const std::string* module{};
  Histogram* histogram{};
};

/// An accumulator with the label of the module that declared it.
struct DeclaredAccumulator {
  const std::string* module{};
  const Accumulator* accumulator{};
};

/// A checked job: its modules and their dependencies. Made in the parent; the children drive blocks
/// through it with a `Processor`.
class Schedule {
 public:
  Schedule(std::vector<ModuleRecord> modules, std::unique_ptr<Graph> graph);
  ~Schedule();
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  /// Callbacks of all modules, in the order in which they were added.
  /// \throws Error naming the module that failed.
  void pre_fork();
  void post_fork(int child);
  void begin_job();
  void end_job();

  /// By module, in booking order; they change with every block.
  [[nodiscard]] std::vector<BookedHistogram> histograms() const;
  void clear_histograms();
  /// By module, in the order of their declaration; they change with every block.
  [[nodiscard]] std::vector<DeclaredAccumulator> accumulators() const;
  void clear_accumulators();
  /// Prepares histograms of analyzers that see several blocks at once for filling by `n` threads.
  void share_histograms(std::size_t n_threads);

  /// Makes `n` further objects of each module with one object per concurrent block; they get the
  /// callbacks from now on.
  void make_clones(std::size_t n_clones);

  /// Whether a module is called with events of one lumi, and so wants each lumi in one piece.
  [[nodiscard]] bool wants_whole_lumis() const;
  /// Whether blocks must be of one lumi, as one of these modules cannot be called with parts of a
  /// block: it has products other than columns, is a coroutine, an output, makes requests or has
  /// external work; or, with several blocks at a time, its callbacks need the lumis in order and it
  /// takes blocks in any.
  [[nodiscard]] bool wants_one_lumi(std::size_t n_blocks) const;

  [[nodiscard]] const Graph& graph() const { return *graph_; }
  /// By number.
  [[nodiscard]] std::span<const ModuleRecord> modules() const;

 private:
  template <typename Call>
  void call_all(const std::string& message, Call call);

  std::vector<ModuleRecord> modules_;
  std::unique_ptr<Graph> graph_;
};

/// Collects the modules of a job and checks them against each other.
class ScheduleBuilder {
 public:
  /// `source_columns`: columns of the input, in the order of `Source::columns()`. `seed`: for the
  /// modules' random numbers. `conditions`: filled; null: the job has none.
  explicit ScheduleBuilder(std::vector<ColumnDescription> source_columns, std::uint64_t seed = 0,
                           std::shared_ptr<Conditions> conditions = nullptr);
  ~ScheduleBuilder();
  ScheduleBuilder(ScheduleBuilder&&) noexcept;
  ScheduleBuilder& operator=(ScheduleBuilder&&) noexcept;

  /// Keeps a place for a module that is added later: callbacks, and problems, are in the order of
  /// places, not of construction.
  void reserve_module(const std::string& label);
  /// Constructs the module at once. An exception of the constructor is kept as a problem of the
  /// module.
  void add_module(const ModuleDescription& module,
                  const std::function<std::unique_ptr<Module>(Construction&)>& make);
  void add_path(const PathDescription& path);
  /// `make` gets the products that the output writes, by name and product number, through
  /// `Construction`.
  void add_output(const OutputDescription& output,
                  const std::function<std::unique_ptr<OutputModule>(Construction&)>& make);

  /// Name and type of every column that modules produce, sorted by name.
  [[nodiscard]] std::vector<ColumnDescription> produced_columns() const;

  /// Names of these columns by label of the module that makes them.
  [[nodiscard]] std::map<std::string, std::vector<std::string>> columns_by_module() const;

  /// Products that each module consumes and produces, by its label.
  [[nodiscard]] std::map<std::string, ModuleProducts> products_by_module() const;

  /// Source columns that some module or output consumes (directly), sorted by name.
  [[nodiscard]] std::vector<std::string> consumed_source_columns() const;

  /// \throws ScheduleError with every problem: a product that is not made (with the nearest name),
  /// made twice, of another type than consumed; a cycle, written as a → b → a; an unknown label in
  /// a path; a producer on a path; unused parameters. The builder cannot be used again.
  [[nodiscard]] std::unique_ptr<Schedule> compile();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace forkrun
