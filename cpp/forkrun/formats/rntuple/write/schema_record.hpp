#pragma once

#include <string_view>

#include <forkrun/formats/rntuple/schema.hpp>
#include <forkrun/formats/rntuple/write/record_writer.hpp>

namespace forkrun::rntuple {

/// What a header says: name, writer, fields, columns and which columns projected fields show. The
/// writer is always "forkrun", so that bytes depend on the content alone.
void put_header(RecordWriter& to, std::string_view name, const Schema& schema);

/// A schema without fields, columns, projected fields or more: the extension of one that has not
/// been extended.
void put_no_extension(RecordWriter& to);

}  // namespace forkrun::rntuple
