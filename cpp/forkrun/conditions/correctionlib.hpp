#pragma once

// Corrections of correctionlib for C++ modules. Needs that package's headers and library:
//   find_package(correctionlib REQUIRED)     # -Dcorrectionlib_DIR=… of `correction config --cmake`
//   target_link_libraries(my_modules PRIVATE correctionlib)

#include <correction.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/data/nearest_name.hpp>
#include <forkrun/core/module/module.hpp>

namespace forkrun {

/// Corrections of a condition of type "correctionlib". They are read once, before the fork.
inline ConditionInput<correction::CorrectionSet> correction_set(Construction& construction,
                                                                const std::string& label) {
  return construction.condition<correction::CorrectionSet>(
      label, [](const ConditionPayload& payload) {
        return std::shared_ptr<const correction::CorrectionSet>{
            correction::CorrectionSet::from_file(payload.file)};
      });
}

/// One correction: `block.condition(handle).evaluate({pt, eta})`.
inline ConditionInput<correction::Correction> correction_of(Construction& construction,
                                                            const std::string& label,
                                                            const std::string& name) {
  return construction.condition<correction::Correction>(
      label,
      [name](const ConditionPayload& payload) {
        const auto set = correction::CorrectionSet::from_file(payload.file);
        std::vector<std::string> names;
        for (const auto& [known, correction] : *set) {
          if (known == name) {
            return correction;
          }
          names.push_back(known);
        }
        throw Error{"it has no correction \"" + name + "\"" + nearest_name_hint(name, names)};
      },
      name);
}

}  // namespace forkrun
