#pragma once

#include <span>

#include <forkrun/core/data/column.hpp>
#include <forkrun/core/data/unit_of_work.hpp>
#include <forkrun/formats/rntuple/write/new_fields.hpp>
#include <forkrun/formats/rntuple/write/pending_column.hpp>

namespace forkrun::rntuple {

/// Adds events of a column to the stored columns of its field. Distinct fields may be filled at the
/// same time.
void add_events(const Column& from, const EntryRun& events, const FieldPlace& place,
                std::span<PendingColumn> columns);

/// The same for ends of lists alone: `offsets` from where the first of them begins.
void add_ends(std::span<const std::int64_t> offsets, PendingColumn& ends);

}  // namespace forkrun::rntuple
