#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <forkrun/core/schedule/module_record.hpp>
#include <forkrun/core/schedule/product_table.hpp>

namespace forkrun {

/// Notes what one module declares.
class ModuleConstruction final : public Construction {
 public:
  ModuleConstruction(std::uint32_t number, ModuleRecord& record, const Parameters& parameters,
                     ProductTable& products, std::uint64_t seed, Conditions& conditions)
      : number_{number},
        record_{record},
        parameters_{parameters},
        products_{products},
        seed_{seed},
        conditions_{conditions} {}

  [[nodiscard]] const std::string& label() const override { return record_.label; }
  [[nodiscard]] const Parameters& parameters() const override { return parameters_; }
  void set_concurrency(Concurrency concurrency) override {
    record_.wished_concurrency = concurrency;
  }
  void set_limit(std::uint32_t n_blocks) override;
  void set_instances(Instances instances) override { record_.instances = instances; }
  using Construction::random;
  [[nodiscard]] RandomKey random(const std::string& name) override {
    return random_key(seed_, name);
  }
  void uses_resource(const std::string& name) override { record_.resources.insert(name); }
  std::uint32_t consume_any_column(const std::string& name) override {
    return products_.consume(number_, name, std::nullopt);
  }
  Histogram& book(const std::string& name, const std::string& title,
                  std::vector<Axis> axes) override;

 protected:
  std::uint32_t consume(const std::string& name, const ProductType& type) override {
    return products_.consume(number_, name, type);
  }
  std::uint32_t consume_lazily(const std::string& name, const ProductType& type) override {
    return products_.consume(number_, name, type, Consumption::When::asked);
  }
  std::uint32_t produce(const std::string& name, const ProductType& type) override {
    return products_.produce(number_, name, type);
  }
  std::uint32_t consume_condition(ConditionObject object) override {
    object.module = record_.label;
    return conditions_.consume(std::move(object));
  }

 private:
  std::uint32_t number_;
  ModuleRecord& record_;
  const Parameters& parameters_;
  ProductTable& products_;
  std::uint64_t seed_;
  Conditions& conditions_;
};

}  // namespace forkrun
