#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <forkrun/formats/root_file/object_stream.hpp>
#include <forkrun/formats/ttree/layout/branch_layout.hpp>
#include <forkrun/formats/ttree/layout/leaf_parser.hpp>

namespace forkrun::root_io {

/// Description of a branch of objects, or of a member of objects that are split.
struct MemberForm {
  std::string class_name;    ///< of the object, or of the class that has the member
  std::int32_t member = -1;  ///< its number in that class; -1: it is an object itself
  std::int32_t version{};    ///< of the class
  std::uint32_t checksum{};  ///< the same
  int kind{};                ///< ROOT's number for how the branch is used
  int type{};                ///< ROOT's number for the type of the member
  bool has_name{};           ///< of the class, before the object: of a TBranchObject

  /// Whether it has the objects of a TClonesArray or collection, all of an entry in sequence.
  [[nodiscard]] bool is_of_many() const;
};

/// \throws ObjectStream::Unexpected
[[nodiscard]] MemberForm parse_member_form(ObjectStream& from, StructureText& structure);

/// The name of a column: that of the member's branch, within the branch of the tree that has it.
/// Sizes of arrays are left out, as they are in the type.
[[nodiscard]] std::string column_name(std::string_view top, std::string_view branch);

/// By ROOT's number of a basic type; none of others.
[[nodiscard]] std::optional<ElementType> element_of_type(int type);

/// Sets column, type's name and place of the values of a member whose branch has this name, if it
/// is of numbers as C++ has them, or arrays of these. `layout.has_offsets` is set.
void describe_member(std::string_view branch, const MemberForm& form, BranchLayout& layout);

}  // namespace forkrun::root_io
