#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <forkrun/core/data/column.hpp>
#include <forkrun/formats/root_file/file_classes.hpp>
#include <forkrun/formats/ttree/layout/packed_numbers.hpp>

namespace forkrun::root_io {

/// How a value lies in an entry of a branch, as the file describes its class.
struct ValueForm {
  enum class Kind : std::uint8_t {
    none,     ///< it cannot be read; with a header it can be passed over
    number,   ///< one, or an array of them
    packed,   ///< the same, of fewer bits
    bits,     ///< of a TObject: a number, and 2 bytes more if it is referred to
    text,     ///< its length, then characters
    list,     ///< the number of items, then these
    object,   ///< members, one after the other
    array,    ///< items, whose number is fixed
    pointer,  ///< to an object, which may follow: it is passed over
  };

  Kind kind{};
  std::string name{};  ///< of a member; "" of a base class, whose members are as its own
  std::string type{};  ///< its class, of what cannot be read
  ElementType element{};
  std::vector<std::uint32_t> sizes{};  ///< of arrays of numbers and items
  Packing packing{};
  bool has_header{};        ///< number of bytes and version
  bool may_lack_length{};   ///< of a text at the end of an entry, if it is empty
  std::size_t n_between{};  ///< bytes between the number of items and these
  std::int32_t version{};   ///< of an object's class
  std::uint32_t checksum{};
  std::vector<ValueForm> within{};  ///< members, or the item

  [[nodiscard]] std::size_t n_items() const;
};

/// A column in the entries of a branch. `path`: numbers of members that lead to it.
struct EntryForm {
  std::shared_ptr<const ValueForm> value;
  std::vector<std::size_t> path;
  bool is_of_many{};     ///< values of many objects, one after the other until the entry's end
  bool shares_header{};  ///< one for all of them
};

/// That of a member of a class, or of a base class.
[[nodiscard]] ValueForm form_of_member(const ClassMember& member, const FileClasses& classes,
                                       int depth = 0);
/// That of an entry with an object of this class. `has_name`: behind the name of the class.
[[nodiscard]] ValueForm form_of_object(std::string_view class_name, const FileClasses& classes,
                                       bool has_name);

/// That of an entry of a nested column: a text, or a vector of texts or of vectors of numbers.
[[nodiscard]] EntryForm form_of_nested(ColumnType type);

/// A column that values of a form have.
struct FormColumn {
  std::string name;  ///< with those of the members that lead to it: "fP.fX"; "": the value itself
  std::vector<std::size_t> path;
  ColumnType type;
};
/// `n_levels`: of lists that the value is in.
[[nodiscard]] std::vector<FormColumn> columns_of(const ValueForm& form, std::size_t n_levels);

}  // namespace forkrun::root_io
