#include <forkrun/core/schedule/product_table.hpp>

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

#include <forkrun/core/data/nearest_name.hpp>

namespace forkrun {

namespace {

bool is_column(const ProductType& type) { return type.cpp_type == typeid(Column); }

bool same_type(const ProductType& a, const ProductType& b) {
  return a.cpp_type == b.cpp_type && (!is_column(a) || a.column == b.column);
}

std::string demangle(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> readable{
      abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free};
  return readable ? readable.get() : name;
}

}  // namespace

std::string type_name(const ProductType& type) {
  return is_column(type) ? type.column.name() : demangle(type.cpp_type.name());
}

ProductTable::ProductTable(std::vector<ColumnDescription> source_columns)
    : source_columns_{std::move(source_columns)} {
  for (std::uint32_t column = 0; column < source_columns_.size(); ++column) {
    column_numbers_.emplace(source_columns_[column].name, column);
  }
}

std::uint32_t ProductTable::consume(std::uint32_t module, const std::string& name,
                                    std::optional<ProductType> type, Consumption::When when) {
  const auto product = number_of(name);
  consumptions_.push_back({module, product, type, when});
  return product;
}

std::uint32_t ProductTable::produce(std::uint32_t module, const std::string& name,
                                    const ProductType& type) {
  const auto number = number_of(name);
  auto& product = products_[number];
  if (product.type && (product.module == none || product.module < module)) {
    made_twice_.push_back({number, module});
  } else {
    if (product.type) {  // by a later module that was constructed before this one
      made_twice_.push_back({number, product.module});
    }
    product.module = module;
    product.type = type;
  }
  return number;
}

void ProductTable::end() { std::ranges::stable_sort(consumptions_, {}, &Consumption::module); }

std::uint32_t ProductTable::number_of(const std::string& name) {
  const auto next = static_cast<std::uint32_t>(products_.size());
  const auto [found, is_new] = product_numbers_.emplace(name, next);
  if (is_new) {
    auto& product = products_.emplace_back(Product{name});
    const auto column = column_numbers_.find(name);
    if (column != column_numbers_.end()) {
      product.source_column = column->second;
      product.type = Construction::column_product(source_columns_[column->second].type);
    }
  }
  return found->second;
}

std::vector<std::string> ProductTable::problems(const std::vector<std::string>& modules) const {
  std::vector<std::string> found;
  for (const auto& [number, module] : made_twice_) {
    const auto& product = products_[number];
    found.push_back("product \"" + product.name + "\" is made twice: by " +
                    maker(product, modules) + " and by " + modules[module]);
  }
  for (const auto& consumption : consumptions_) {
    auto problem = check(consumption, modules);
    if (!problem.empty()) {
      found.push_back(std::move(problem));
    }
  }
  return found;
}

std::string ProductTable::check(const Consumption& consumption,
                                const std::vector<std::string>& modules) const {
  const auto& product = products_[consumption.product];
  const auto asked = modules[consumption.module] + " consumes \"" + product.name + "\"";
  if (!product.type) {
    return asked + ", which no module makes" + nearest_name_hint(product.name, names_made());
  }
  if (!consumption.type && !is_column(*product.type)) {
    return asked + " as a column, but " + maker(product, modules) + " makes it as " +
           type_name(*product.type);
  }
  if (consumption.type && !same_type(*consumption.type, *product.type)) {
    return asked + " as " + type_name(*consumption.type) + ", but " + maker(product, modules) +
           " makes it as " + type_name(*product.type);
  }
  return {};
}

std::string ProductTable::maker(const Product& product,
                                const std::vector<std::string>& modules) const {
  return product.module == none ? "the input" : modules[product.module];
}

std::vector<std::string> ProductTable::names_made() const {
  std::vector<std::string> names;
  for (const auto& product : products_) {
    if (product.type) {
      names.push_back(product.name);
    }
  }
  for (const auto& column : source_columns_) {
    names.push_back(column.name);
  }
  return names;
}

}  // namespace forkrun
