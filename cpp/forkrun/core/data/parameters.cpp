#include <forkrun/core/data/parameters.hpp>

#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/data/nearest_name.hpp>

namespace forkrun {

namespace {

template <typename T>
constexpr bool is_vector = false;
template <typename T>
constexpr bool is_vector<std::vector<T>> = true;

template <typename T>
std::string type_name() {
  if constexpr (is_vector<T>) {
    return "list of " + type_name<typename T::value_type>() + "s";
  } else if constexpr (std::is_same_v<T, bool>) {
    return "boolean";
  } else if constexpr (std::is_integral_v<T>) {
    return "integer";
  } else if constexpr (std::is_floating_point_v<T>) {
    return "number";
  } else {
    return "string";
  }
}

std::string with_article(const std::string& name) {
  return (name.starts_with('i') ? "an " : "a ") + name;
}

/// Whether `From` may stand for `To` in a list of parameters: the same kind, or an integer for a
/// number.
template <typename To, typename From>
constexpr bool converts =
    (std::is_floating_point_v<To> && std::is_arithmetic_v<From> && !std::is_same_v<From, bool>) ||
    (std::is_integral_v<To> && std::is_same_v<From, std::int64_t> && !std::is_same_v<To, bool>) ||
    std::is_same_v<To, From>;

/// nullopt if `from` is not a T, or an integer too large for it.
template <typename To, typename From>
std::optional<To> convert(const From& from) {
  if constexpr (is_vector<To> && is_vector<From>) {
    To values;
    for (const auto& element : from) {
      auto value = convert<typename To::value_type>(element);
      if (!value) {
        return std::nullopt;
      }
      values.push_back(std::move(*value));
    }
    return values;
  } else if constexpr (!converts<To, From>) {
    return std::nullopt;
  } else if constexpr (std::is_integral_v<To> && !std::is_same_v<To, From>) {
    const bool fits = std::in_range<To>(from);
    return fits ? std::optional{static_cast<To>(from)} : std::nullopt;
  } else {
    return static_cast<To>(from);
  }
}

std::string name_of_type_of(const ParameterValue& value) {
  return std::visit([]<typename T>(const T&) { return type_name<T>(); }, value);
}

template <typename T>
T get_value(const std::string& module, const std::string& name, const ParameterValue& value) {
  auto converted = std::visit([](const auto& from) { return convert<T>(from); }, value);
  if (!converted) {
    throw ScheduleError{{"module \"" + module + "\": parameter \"" + name + "\" must be " +
                         with_article(type_name<T>()) +
                         (std::is_same_v<T, int> ? " of 32 bits" : "") + ", but " +
                         with_article(name_of_type_of(value)) + " is given"}};
  }
  return *std::move(converted);
}

}  // namespace

Parameters::Parameters(std::string module, std::map<std::string, ParameterValue> values)
    : module_{std::move(module)}, values_{std::move(values)} {}

template <typename T>
T Parameters::get(const std::string& name) const {
  asked_.insert(name);
  const auto found = values_.find(name);
  if (found == values_.end()) {
    throw ScheduleError{{"module \"" + module_ + "\" needs the parameter \"" + name + "\" (" +
                         with_article(type_name<T>()) + ")"}};
  }
  return get_value<T>(module_, name, found->second);
}

template <typename T>
T Parameters::get(const std::string& name, T fallback) const {
  asked_.insert(name);
  const auto found = values_.find(name);
  return found == values_.end() ? std::move(fallback) : get_value<T>(module_, name, found->second);
}

void Parameters::check_all_used() const {
  const std::vector<std::string> asked{asked_.begin(), asked_.end()};
  std::vector<std::string> problems;
  for (const auto& [name, value] : values_) {
    if (!asked_.contains(name)) {
      problems.push_back("module \"" + module_ + "\" has no parameter \"" + name + "\"" +
                         nearest_name_hint(name, asked));
    }
  }
  if (!problems.empty()) {
    throw ScheduleError{std::move(problems)};
  }
}

#define FORKRUN_PARAMETER_TYPE(...)                                            \
  template __VA_ARGS__ Parameters::get<__VA_ARGS__>(const std::string&) const; \
  template __VA_ARGS__ Parameters::get<__VA_ARGS__>(const std::string&, __VA_ARGS__) const

FORKRUN_PARAMETER_TYPE(bool);
FORKRUN_PARAMETER_TYPE(int);
FORKRUN_PARAMETER_TYPE(std::int64_t);
FORKRUN_PARAMETER_TYPE(float);
FORKRUN_PARAMETER_TYPE(double);
FORKRUN_PARAMETER_TYPE(std::string);
FORKRUN_PARAMETER_TYPE(std::vector<int>);
FORKRUN_PARAMETER_TYPE(std::vector<std::int64_t>);
FORKRUN_PARAMETER_TYPE(std::vector<float>);
FORKRUN_PARAMETER_TYPE(std::vector<double>);
FORKRUN_PARAMETER_TYPE(std::vector<std::string>);

}  // namespace forkrun
