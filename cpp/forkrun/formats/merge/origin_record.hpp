#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <forkrun/bytes/compression.hpp>
#include <forkrun/formats/root_file/record_file.hpp>
#include <forkrun/formats/table/row_origins.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>

namespace forkrun::root_io {

/// By path of a tree, in the order of its rows; "": the files whose objects are in the file.
using OriginsByPath = std::map<std::string, std::vector<OriginRows>>;

/// The tree of an output that says where the rows of its carried trees came from. A row for each
/// stretch of rows, so that the trees of files that any program joins, one behind the other, still
/// say it.
inline const std::string origin_record = "forkrun_origins";

/// None if the file has no such tree. \throws InputError
[[nodiscard]] std::optional<OriginsByPath> read_origins(TreeFile& file);
/// \throws OutputError
void write_origins(RecordFile& file, const OriginsByPath& origins, Compression compression);

}  // namespace forkrun::root_io
