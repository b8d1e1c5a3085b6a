#pragma once

#include <cstddef>

namespace forkrun::python_memory {

/// Python makes its objects in arenas of 1 MiB. From here on they lie in huge pages of 2 MiB from
/// their first use on, where the kernel allows it: a fork then copies one entry of the page table
/// for 2 MiB instead of 512, and nothing has to be joined.
void use_huge_arenas();

/// New arenas are ordinary ones again: for children, whose few objects would fill no huge page.
void use_ordinary_arenas();

/// Joins the pages of this process's own memory to huge pages of 2 MiB, where nearly all of one is
/// in use. A fork then copies one entry of the page table instead of 512, and children find their
/// way through shared tables with fewer lookups; a child that writes still copies a page of 4 KiB
/// only. Gives the bytes that are in huge pages through this call: 0 where the kernel cannot
/// (before Linux 6.1).
std::size_t join_pages();

}  // namespace forkrun::python_memory
