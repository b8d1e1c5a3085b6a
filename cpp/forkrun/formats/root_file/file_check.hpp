#pragma once

#include <string>

namespace forkrun::root_io {

/// Reads a file that was written as its readers will begin to: from its header on one record after
/// the other, each at the place that it names itself, up to the end that the header names; among
/// them all that the header and the top directory name. One small read for each record.
/// \throws OutputError
void check_records(int descriptor, const std::string& path);

}  // namespace forkrun::root_io
