#pragma once

#include <cstddef>

namespace forkrun::python_memory {

/// Joins the pages of this process's own memory to huge pages of 2 MiB, where nearly all of one is
/// in use. A fork then copies one entry of the page table instead of 512, and children find their
/// way through shared tables with fewer lookups; a child that writes still copies a page of 4 KiB
/// only. Gives the bytes that are in huge pages through this call: 0 where the kernel cannot
/// (before Linux 6.1).
std::size_t join_pages();

}  // namespace forkrun::python_memory
