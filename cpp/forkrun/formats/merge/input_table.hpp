#pragma once

#include <string>
#include <vector>

#include <forkrun/formats/rntuple/output/ntuple_output.hpp>
#include <forkrun/formats/ttree/output/tree_writer.hpp>

// Questions of a merge about the table of an input.
namespace forkrun::root_io {

/// Names of its columns, as trees have them, where there are such.
[[nodiscard]] std::vector<std::string> names_of_columns(const rntuple::OpenTable& opened);

/// Its columns as branches that are written by their values. \throws InputError if there is
/// anything else.
[[nodiscard]] std::vector<NewBranch> branches_of(const rntuple::OpenTable& opened);

/// Names and types.
[[nodiscard]] std::vector<std::string> described(const std::vector<NewBranch>& branches);

/// Names of the friends and the index of a tree, for people.
[[nodiscard]] std::vector<std::string> relations_of(const rntuple::OpenTable& opened);

/// Without ROOT where that is possible.
[[nodiscard]] bool is_filled_by_branch(const TreeFile& file, const std::string& path);

/// Damage in a page without a checksum would be copied unseen. \throws InputError
void require_checksums(const rntuple::OpenTable& opened);

}  // namespace forkrun::root_io
