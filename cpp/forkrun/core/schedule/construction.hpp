#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <forkrun/core/schedule/module_record.hpp>
#include <forkrun/core/schedule/product_table.hpp>
#include <forkrun/core/schedule/schedule.hpp>

namespace forkrun {

/// Notes what one module declares. It stays as long as the module, which may have kept a reference:
/// when the construction is over, that leads to an error.
class ModuleConstruction final : public Construction {
 public:
  ModuleConstruction(std::uint32_t number, ModuleRecord& record, const Parameters& parameters,
                     const ProductVersions& versions, ProductTable& products, std::uint64_t seed,
                     Conditions& conditions)
      : label_{record.label},
        number_{number},
        open_{record, parameters, versions, products, conditions, seed} {}

  /// From now on nothing can be declared.
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
  /// What is there while the module is constructed.
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

}  // namespace forkrun
