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

namespace forkrun::root_io {

/// How numbers are stored that have fewer bits in files than in memory.
struct Packing {
  double least{};
  double factor{};  ///< 0: sign, exponent and some bits of the mantissa
  int n_bits{};     ///< of the mantissa
  bool is_float{};  ///< as a plain float32

  [[nodiscard]] std::size_t n_bytes() const { return factor != 0 || is_float ? 4 : 3; }
};

/// Packing that ROOT reads in the comment after a member, `title`.
[[nodiscard]] Packing packing_in(std::string_view title, bool is_float16);

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

/// Form of a member of a class, or of a base class.
[[nodiscard]] ValueForm form_of_member(const ClassMember& member, const FileClasses& classes,
                                       int depth = 0);
/// Form of an entry with an object of this class. `has_name`: the name of the class precedes it.
[[nodiscard]] ValueForm form_of_object(std::string_view class_name, const FileClasses& classes,
                                       bool has_name);

/// Form of an entry of a nested column: a text, or a vector of texts or of vectors of numbers.
[[nodiscard]] EntryForm form_of_nested(ColumnType type);

/// A column that values of a form have.
struct FormColumn {
  std::string name;  ///< with those of the members that lead to it: "fP.fX"; "": the value itself
  std::vector<std::size_t> path;
  ColumnType type;
};
/// `n_levels`: of lists that the value is in.
[[nodiscard]] std::vector<FormColumn> columns_of(const ValueForm& form, std::size_t n_levels);

/// Bytes of numbers, packed or not; 0 of anything else.
[[nodiscard]] std::size_t fixed_size(const ValueForm& form);

/// The number of an entry that lies at the same place in each of them.
struct FixedPlace {
  std::size_t offset{};
  std::size_t n_bytes{};
  std::size_t n_entry_bytes{};
};
/// None if the place differs, or the number is packed.
[[nodiscard]] std::optional<FixedPlace> fixed_place(const EntryForm& form);

}  // namespace forkrun::root_io
