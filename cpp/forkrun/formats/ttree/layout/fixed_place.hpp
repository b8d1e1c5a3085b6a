#pragma once

#include <cstddef>
#include <optional>

#include <forkrun/formats/ttree/layout/value_form.hpp>

namespace forkrun::root_io {

/// Bytes of numbers, packed or not; 0 of anything else.
[[nodiscard]] std::size_t fixed_size(const ValueForm& form);

/// The number of an entry that lies at the same place in each of them.
struct FixedPlace {
  std::size_t offset{};
  std::size_t n_bytes{};
  std::size_t n_entry_bytes{};
};
/// None if the place differs, or the number is packed.
[[nodiscard]] std::optional<FixedPlace> fixed_place(const EntryForm& form);

}  // namespace forkrun::root_io
