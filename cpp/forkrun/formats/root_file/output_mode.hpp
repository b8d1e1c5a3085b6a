#pragma once

namespace forkrun::root_io {

/// `create` replaces an existing file.
enum class OutputMode { create, update };

}  // namespace forkrun::root_io
