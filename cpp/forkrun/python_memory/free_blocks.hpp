#pragma once

#include <cstddef>

namespace forkrun::python_memory {

/// Takes, for ever, every free block left between the objects of Python's small-object allocator,
/// and in the heap of the C library, which has been trimmed: so a child allocates on its own pages
/// instead of copying a page of the parent's for each object. Returns the bytes taken. Does nothing
/// with an unknown allocator.
std::size_t take_free_blocks();

/// Returns free pages of the C library's heap to the operating system: a child that uses them gets
/// empty pages instead of copies of the parent's.
void trim_heap();

/// From now on arrays of up to 64 MB come from the C library's heap, which keeps up to 128 MB of
/// free memory: the columns of each block reuse the memory of the previous ones, while the
/// operating system would clear new pages for each, a seventh of the time of a columnar analysis.
void keep_freed_memory();

}  // namespace forkrun::python_memory
