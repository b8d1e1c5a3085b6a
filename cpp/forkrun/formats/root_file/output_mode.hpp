#pragma once

namespace forkrun::root_io {

/// `create` puts a new file in the place of one that exists.
enum class OutputMode { create, update };

}  // namespace forkrun::root_io
