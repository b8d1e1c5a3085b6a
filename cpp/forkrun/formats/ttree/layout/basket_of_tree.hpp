#pragma once

#include <optional>

#include <forkrun/formats/root_file/object_stream.hpp>
#include <forkrun/formats/ttree/layout/basket_lists.hpp>

namespace forkrun::root_io {

/// A basket in the list of its branch, which is within the record of the tree: none if it has a
/// record of its own, and is only named here. \throws ObjectStream::Unexpected
[[nodiscard]] std::optional<BasketOfTree> parse_basket_of_tree(ObjectStream& from,
                                                               bool has_offsets);

}  // namespace forkrun::root_io
