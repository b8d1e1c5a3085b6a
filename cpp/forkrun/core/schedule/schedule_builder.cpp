#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/schedule/compile_graph.hpp>
#include <forkrun/core/schedule/graph.hpp>
#include <forkrun/core/schedule/product_table.hpp>
#include <forkrun/core/schedule/schedule.hpp>

namespace forkrun {

namespace {

/// Notes the declarations of one module. It lives as long as the module, which may have kept a
/// reference: after the construction, its use is an error.
class ModuleConstruction final : public Construction {
 public:
  ModuleConstruction(std::uint32_t number, ModuleRecord& record, const Parameters& parameters,
                     const ProductVersions& versions, ProductTable& products, std::uint64_t seed,
                     Conditions& conditions)
      : label_{record.label},
        number_{number},
        open_{record, parameters, versions, products, conditions, seed} {}

  /// Ends the declarations.
  void end() { is_over_ = true; }

  [[nodiscard]] const std::string& label() const override { return label_; }
  [[nodiscard]] const Parameters& parameters() const override { return open().parameters; }
  void set_concurrency(Concurrency concurrency) override {
    open().record.wanted_concurrency = concurrency;
  }
  void set_limit(std::uint32_t n_blocks) override;
  void set_instances(Instances instances) override { open().record.instances = instances; }
  using Construction::random;
  [[nodiscard]] RandomKey random(const std::string& name) override {
    return random_key(open().seed, name);
  }
  void set_one_lumi() override { open().record.wants_one_lumi = true; }
  void set_sees_events_left() override { open().record.sees_events_left = true; }
  void uses_resource(const std::string& name) override { open().record.resources.insert(name); }
  std::uint32_t consume_any_column(const std::string& name) override {
    return open().products.consume(number_, consumed(name), std::nullopt);
  }

 protected:
  void keep_histogram(std::unique_ptr<Histogram> histogram) override;
  void keep_accumulator(std::unique_ptr<Accumulator> accumulator) override;
  std::uint32_t consume(const std::string& name, const ProductType& type) override {
    return open().products.consume(number_, consumed(name), type);
  }
  std::uint32_t consume_lazily(const std::string& name, const ProductType& type) override {
    return open().products.consume(number_, consumed(name), type, Consumption::When::asked);
  }
  std::uint32_t produce(const std::string& name, const ProductType& type) override {
    return open().products.produce(number_, version(open().versions.produced, name), type);
  }
  std::uint32_t consume_condition(ConditionObject object) override {
    object.module = label_;
    return open().conditions.consume(std::move(object));
  }
  [[nodiscard]] std::uint32_t number() const override { return number_; }

 private:
  /// State during the module's construction.
  struct Open {
    ModuleRecord& record;
    const Parameters& parameters;
    const ProductVersions& versions;
    ProductTable& products;
    Conditions& conditions;
    std::uint64_t seed;
  };
  [[nodiscard]] const Open& open() const;
  [[nodiscard]] static std::string version(const std::map<std::string, std::string>& versions,
                                           const std::string& name);
  [[nodiscard]] std::string consumed(const std::string& name) const {
    return version(open().versions.consumed, name);
  }

  std::string label_;
  std::uint32_t number_;
  Open open_;
  bool is_over_{};
};

const ModuleConstruction::Open& ModuleConstruction::open() const {
  if (is_over_) {
    throw Error{
        "module \"" + label_ +
        "\" uses its Construction after its constructor: parameters are read, and products, "
        "histograms, accumulators and conditions declared, only in the constructor"};
  }
  return open_;
}

/// For a column that nothing replaces, the version before any replacement is the column itself.
std::string ModuleConstruction::version(const std::map<std::string, std::string>& versions,
                                        const std::string& name) {
  constexpr std::string_view at_input = "@input";
  const auto found = versions.find(name);
  if (found != versions.end()) {
    return found->second;
  }
  return name.ends_with(at_input) ? name.substr(0, name.size() - at_input.size()) : name;
}

void ModuleConstruction::set_limit(std::uint32_t n_blocks) {
  if (n_blocks == 0) {
    throw Error{"the limit must be at least one block at a time"};
  }
  open().record.wanted_concurrency = Concurrency::limited;
  open().record.limit = n_blocks;
}

void ModuleConstruction::keep_histogram(std::unique_ptr<Histogram> histogram) {
  auto& histograms = open().record.histograms;
  const auto has_name = [&](const auto& other) { return other->name() == histogram->name(); };
  if (std::ranges::any_of(histograms, has_name)) {
    throw Error{"histogram \"" + histogram->name() + "\" is booked twice"};
  }
  histograms.push_back(std::move(histogram));
}

void ModuleConstruction::keep_accumulator(std::unique_ptr<Accumulator> accumulator) {
  auto& accumulators = open().record.accumulators;
  const auto has_name = [&](const auto& other) { return other->name() == accumulator->name(); };
  if (std::ranges::any_of(accumulators, has_name)) {
    throw Error{"accumulator \"" + accumulator->name() + "\" is declared twice"};
  }
  accumulators.push_back(std::move(accumulator));
}

ModuleKind kind_of(const Module& module) {
  if (dynamic_cast<const Producer*>(&module) != nullptr ||
      dynamic_cast<const CoroutineProducer*>(&module) != nullptr) {
    return ModuleKind::producer;
  }
  if (dynamic_cast<const Filter*>(&module) != nullptr ||
      dynamic_cast<const CoroutineFilter*>(&module) != nullptr) {
    return ModuleKind::filter;
  }
  if (dynamic_cast<const Analyzer*>(&module) != nullptr) {
    return ModuleKind::analyzer;
  }
  if (dynamic_cast<const OutputModule*>(&module) != nullptr) {
    return ModuleKind::output;
  }
  throw Error{"must be a producer, filter, analyzer or output"};
}

std::string name_of(ModuleKind kind) {
  constexpr std::array names{"unknown", "producer", "filter", "analyzer", "output"};
  return names.at(static_cast<std::size_t>(kind));
}

}  // namespace

struct ScheduleBuilder::Impl {
  JobDescription job;
  std::uint64_t seed;
  std::shared_ptr<Conditions> conditions;
  std::multimap<std::uint32_t, std::string> problems{};  ///< by number of the module
  std::map<std::string, std::uint32_t> reserved{};       ///< numbers by label
  bool is_compiled{};

  void check_not_compiled() const;
  std::uint32_t place_of(const std::string& label);
  template <typename Make>
  void add(const ModuleDescription& module, const Make& make);
};

void apply(const ConcurrencyOverride& instead, ModuleRecord& record) {
  if (instead.concurrency) {
    record.wanted_concurrency = instead.concurrency;
    record.limit = instead.limit;
  }
  record.instances = instead.instances.value_or(record.instances);
  record.resources.insert(instead.resources.begin(), instead.resources.end());
}

void ScheduleBuilder::Impl::check_not_compiled() const {
  if (is_compiled) {
    throw Error{
        "this ScheduleBuilder has been compiled, and its modules are in the schedule: make another "
        "one"};
  }
}

/// Its reserved place, or a new one after all others.
std::uint32_t ScheduleBuilder::Impl::place_of(const std::string& label) {
  if (const auto place = reserved.extract(label)) {
    return place.mapped();
  }
  job.modules.emplace_back(ModuleRecord{label});
  return static_cast<std::uint32_t>(job.modules.size() - 1);
}

/// Constructs a module; an exception becomes a problem.
template <typename Make>
void ScheduleBuilder::Impl::add(const ModuleDescription& description, const Make& make) {
  check_not_compiled();
  const auto& [label, parameters, instead, versions] = description;
  const auto number = place_of(label);
  auto& record = job.modules[number];
  auto owned = std::make_unique<ModuleConstruction>(number, record, parameters, versions,
                                                    job.products, seed, *conditions);
  auto& construction = *owned;
  record.construction = std::move(owned);
  try {
    auto module = make(construction);
    if (!module) {
      throw Error{"was not made"};
    }
    record.kind = kind_of(*module);
    record.module = std::move(module);
    apply(instead, record);
    parameters.check_all_used();
  } catch (const ScheduleError& error) {
    for (const auto& problem : error.problems()) {
      problems.emplace(number, problem);
    }
  } catch (const std::exception& error) {
    problems.emplace(number, "module \"" + label + "\": " + error.what());
  }
  construction.end();
}

ScheduleBuilder::ScheduleBuilder(std::vector<ColumnDescription> source_columns, std::uint64_t seed,
                                 std::shared_ptr<Conditions> conditions)
    : impl_{std::make_unique<Impl>(
          Impl{JobDescription{{}, ProductTable{std::move(source_columns)}, {}, {}}, seed,
               conditions ? std::move(conditions) : std::make_shared<Conditions>(0)})} {}

ScheduleBuilder::~ScheduleBuilder() = default;
ScheduleBuilder::ScheduleBuilder(ScheduleBuilder&&) noexcept = default;
ScheduleBuilder& ScheduleBuilder::operator=(ScheduleBuilder&&) noexcept = default;

void ScheduleBuilder::reserve_module(const std::string& label) {
  impl_->check_not_compiled();
  const auto number = impl_->place_of(label);
  impl_->reserved[label] = number;
}

void ScheduleBuilder::add_module(
    const ModuleDescription& module,
    const std::function<std::unique_ptr<Module>(Construction&)>& make) {
  impl_->add(module, make);
}

void ScheduleBuilder::add_path(const PathDescription& path) {
  impl_->check_not_compiled();
  impl_->job.paths.push_back(path);
}

void ScheduleBuilder::add_output(
    const OutputDescription& output,
    const std::function<std::unique_ptr<OutputModule>(Construction&)>& make) {
  impl_->check_not_compiled();
  impl_->job.outputs.push_back(output);
  impl_->add({output.label, {}}, [&](Construction& construction) {
    for (const auto& product : output.products) {
      construction.consume_any_column(product);
    }
    return std::unique_ptr<Module>{make(construction)};
  });
}

namespace {

bool is_produced_column(const Product& product) {
  return product.type && product.module != none && product.type->cpp_type == typeid(Column);
}

}  // namespace

std::vector<ColumnDescription> ScheduleBuilder::produced_columns() const {
  std::vector<ColumnDescription> columns;
  for (const auto& product : impl_->job.products.products()) {
    if (is_produced_column(product)) {
      columns.push_back({product.name, product.type->column});
    }
  }
  std::ranges::sort(columns, {}, &ColumnDescription::name);
  return columns;
}

std::map<std::string, std::vector<std::string>> ScheduleBuilder::columns_by_module() const {
  std::map<std::string, std::vector<std::string>> names;
  for (const auto& product : impl_->job.products.products()) {
    if (is_produced_column(product)) {
      names[impl_->job.modules[product.module].label].push_back(product.name);
    }
  }
  return names;
}

std::map<std::string, ModuleProducts> ScheduleBuilder::products_by_module() const {
  const auto& [modules, table, paths, outputs] = impl_->job;
  std::map<std::string, ModuleProducts> names;
  for (const auto& module : modules) {
    names[module.label].kind = name_of(module.kind);
  }
  for (const auto& consumption : table.consumptions()) {
    const auto& product = table.products()[consumption.product].name;
    names[modules[consumption.module].label].consumed.push_back(product);
  }
  for (const auto& product : table.products()) {
    if (product.module != none) {
      names[modules[product.module].label].produced.push_back(product.name);
    }
  }
  return names;
}

std::vector<std::string> ScheduleBuilder::consumed_source_columns() const {
  const auto& table = impl_->job.products;
  std::set<std::string> names;
  for (const auto& consumption : table.consumptions()) {
    const auto& product = table.products()[consumption.product];
    if (product.source_column != none) {
      names.insert(product.name);
    }
  }
  return {names.begin(), names.end()};
}

std::unique_ptr<Schedule> ScheduleBuilder::compile() {
  impl_->check_not_compiled();
  impl_->is_compiled = true;
  for (const auto& [label, number] : impl_->reserved) {
    throw Error{"the place reserved for module \"" + label +
                "\" is empty: the module was not added"};
  }
  impl_->job.products.end();
  std::vector<std::string> problems;
  for (auto& [number, problem] : impl_->problems) {
    problems.push_back(std::move(problem));
  }
  std::ranges::move(find_problems(impl_->job), std::back_inserter(problems));
  if (!problems.empty()) {
    throw ScheduleError{std::move(problems)};
  }
  auto graph = std::make_unique<Graph>(compile_graph(impl_->job));
  graph->conditions = impl_->conditions;
  return std::make_unique<Schedule>(std::move(impl_->job.modules), std::move(graph));
}

}  // namespace forkrun
