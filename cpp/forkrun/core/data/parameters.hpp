#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace forkrun {

using ParameterValue =
    std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>,
                 std::vector<double>, std::vector<std::string>>;

/// The `params` of one module. Every access is noted, so that `check_all_used` can name unused
/// parameters, each with the nearest used name.
class Parameters {
 public:
  Parameters() = default;
  Parameters(std::string module, std::map<std::string, ParameterValue> values);

  /// T: bool, int, std::int64_t, float, double, std::string or a vector of the last three. An
  /// integer is accepted for a floating-point parameter; nothing else is converted.
  /// \throws ScheduleError naming module, parameter, the wanted and the given type.
  template <typename T>
  T get(const std::string& name) const;
  template <typename T>
  T get(const std::string& name, T fallback) const;

  /// \throws ScheduleError
  void check_all_used() const;

 private:
  std::string module_;
  std::map<std::string, ParameterValue> values_;
  mutable std::set<std::string> asked_;
};

}  // namespace forkrun
