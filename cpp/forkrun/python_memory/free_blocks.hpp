#pragma once

#include <cstddef>

namespace forkrun::python_memory {

/// Takes every free block that is left between the objects of Python's small-object allocator, and
/// in the heap of the C library, which has been trimmed, for ever: so a child makes what it makes
/// on pages of its own instead of copying, for each, a page of the parent's. Gives the bytes taken.
/// Does nothing with an allocator that it does not know.
std::size_t take_free_blocks();

/// Gives free pages of the C library's heap back to the operating system: a child that uses them
/// gets empty pages instead of copies of the parent's rubbish.
void trim_heap();

/// From here on arrays of up to 64 MB come from the C library's heap, which keeps up to 128 MB of
/// free memory: the columns of each block take the place of those before, where the operating
/// system would clear new pages for each, a seventh of the time of a columnar analysis.
void keep_freed_memory();

}  // namespace forkrun::python_memory
