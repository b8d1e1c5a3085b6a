#pragma once

namespace forkrun::python_memory {

/// Python makes its objects in arenas of 1 MiB. From here on they lie in huge pages of 2 MiB from
/// their first use on, where the kernel allows it: a fork then copies one entry of the page table
/// for 2 MiB instead of 512, and nothing has to be joined.
void use_huge_arenas();

/// New arenas are ordinary ones again: for children, whose few objects would fill no huge page.
void use_ordinary_arenas();

}  // namespace forkrun::python_memory
