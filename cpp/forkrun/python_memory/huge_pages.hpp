#pragma once

#include <cstddef>

namespace forkrun::python_memory {

/// Python allocates its objects in arenas of 1 MiB. From now on these are in huge pages of 2 MiB
/// from their first use, where the kernel allows it: a fork then copies one entry of the page table
/// for 2 MiB instead of 512, and no joining is needed.
void use_huge_arenas();

/// New arenas are ordinary again: for children, whose few objects would fill no huge page.
void use_ordinary_arenas();

/// Joins pages of this process's own memory to huge pages of 2 MiB, where nearly all of one is in
/// use. A fork then copies one entry of the page table instead of 512, and children need fewer
/// lookups in shared tables; a child that writes still copies only a page of 4 KiB. Returns the
/// bytes newly in huge pages: 0 where the kernel cannot (before Linux 6.1).
std::size_t join_pages();

}  // namespace forkrun::python_memory
