#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <forkrun/core/data/source.hpp>
#include <forkrun/core/module/module.hpp>

namespace forkrun {

/// A product of the job: its maker and type.
struct Product {
  std::string name;
  std::optional<ProductType> type{};   ///< known once it has a maker
  std::uint32_t module = none;         ///< the module that makes it, or
  std::uint32_t source_column = none;  ///< or its column of the input
};

/// A module's request for a product.
struct Consumption {
  enum class When : std::uint8_t { before, asked };
  std::uint32_t module{};
  std::uint32_t product{};
  std::optional<ProductType> type{};  ///< none: any column
  When when = When::before;           ///< it runs, or while it runs, at its request
};

/// Numbers the products by name, while modules are constructed in any order, and finds mismatches.
class ProductTable {
 public:
  explicit ProductTable(std::vector<ColumnDescription> source_columns);

  std::uint32_t consume(std::uint32_t module, const std::string& name,
                        std::optional<ProductType> type,
                        Consumption::When when = Consumption::When::before);
  std::uint32_t produce(std::uint32_t module, const std::string& name, const ProductType& type);

  /// Puts consumptions in the order of modules, after the construction of all.
  void end();

  /// By number.
  [[nodiscard]] const std::vector<Product>& products() const { return products_; }
  [[nodiscard]] const std::vector<Consumption>& consumptions() const { return consumptions_; }

  /// Products made twice, not made at all, or of another type than consumed. `modules`: description
  /// of each module, such as `module "dimuon"`.
  [[nodiscard]] std::vector<std::string> problems(const std::vector<std::string>& modules) const;

 private:
  struct MadeTwice {
    std::uint32_t product{};
    std::uint32_t module{};
  };
  std::uint32_t number_of(const std::string& name);
  [[nodiscard]] std::vector<std::string> names_made() const;
  [[nodiscard]] std::string maker(const Product& product,
                                  const std::vector<std::string>& modules) const;
  [[nodiscard]] std::string check(const Consumption& consumption,
                                  const std::vector<std::string>& modules) const;

  std::vector<ColumnDescription> source_columns_;
  std::map<std::string, std::uint32_t> column_numbers_;
  std::map<std::string, std::uint32_t> product_numbers_;
  std::vector<Product> products_;
  std::vector<Consumption> consumptions_;
  std::vector<MadeTwice> made_twice_;
};

/// "float32[]", or the name of the C++ type.
[[nodiscard]] std::string type_name(const ProductType& type);

}  // namespace forkrun
