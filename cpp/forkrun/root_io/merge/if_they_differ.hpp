#pragma once

namespace forkrun::root_io {

/// What becomes of objects of one name that ROOT cannot merge and that differ.
enum class IfTheyDiffer { error, keep_first };

}  // namespace forkrun::root_io
