#pragma once

#include <cstdint>

namespace forkrun {

/// Memory of all columns of this process, also of those that arrays hold alone.
[[nodiscard]] std::int64_t bytes_of_all_columns();

}  // namespace forkrun
