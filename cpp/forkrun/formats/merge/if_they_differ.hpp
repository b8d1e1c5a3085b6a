#pragma once

#include <cstdint>

namespace forkrun::root_io {

/// Treatment of differing objects of one name that ROOT cannot merge.
enum class IfTheyDiffer { error, keep_first };

/// Treatment of objects that may refer to others by numbers of their file, and whose class no
/// library here knows.
enum class UnknownReferences : std::uint8_t { error, leave_out };

}  // namespace forkrun::root_io
