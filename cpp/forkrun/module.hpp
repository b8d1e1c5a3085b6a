#pragma once

/// Interface for modules: `#include <forkrun/module.hpp>` is enough for producers, filters,
/// analyzers.

#include <forkrun/core/module/appending.hpp>
#include <forkrun/core/module/module.hpp>
