#pragma once

#include <cstdint>

namespace forkrun {

/// Memory of all columns of this process, including columns that only arrays hold.
[[nodiscard]] std::int64_t bytes_of_all_columns();

}  // namespace forkrun
