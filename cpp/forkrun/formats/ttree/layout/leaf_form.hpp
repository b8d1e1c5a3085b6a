#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <forkrun/core/data/column.hpp>

namespace forkrun::root_io {

/// Name of the leaf of a branch: without characters that would end it in a list of leaves.
[[nodiscard]] std::string leaf_name(const std::string& branch);

/// A column that becomes a branch.
struct NewBranch {
  std::string name;
  ColumnType type;
  /// The branch that counts its values; none: that of its prefix; "": one of its own.
  std::optional<std::string> counter{};
};
[[nodiscard]] std::string counter_of(const NewBranch& branch);

/// Title of the leaf of a column that is not nested: its name with the sizes of an entry,
/// "x[nx][2]".
[[nodiscard]] std::string leaf_title(const NewBranch& branch);

/// ROOT's letter for the type of its values: 'F' for float32.
[[nodiscard]] char leaf_letter(ElementType element);

struct EntryForm;

/// A leaf of a branch of numbers or characters, read by ROOT or from a record.
struct LeafForm {
  std::string_view type;   ///< its class, TLeafF for instance
  std::string_view title;  ///< with sizes, as in "x[n][2]"
  int n_values{};          ///< per entry, or per count
  bool is_unsigned{};
  bool is_counted{};
};

/// TLeafF, TLeafI, … and not TLeafF16, TLeafObject, TLeafElement.
[[nodiscard]] bool is_arithmetic(std::string_view leaf_type);

/// Whether a leaf of this class can have values of this size, at this offset in its branch's
/// memory.
[[nodiscard]] bool is_possible(std::string_view leaf_type, int value_size, int offset);

/// Numbers of fewer bits in files than in memory: TLeafF16, TLeafD32.
[[nodiscard]] bool is_packed(std::string_view leaf_type);

/// Type of each entry of a branch with these leaves; nothing if its bytes are no plain numbers or
/// characters, or of several leaves.
[[nodiscard]] std::optional<ColumnType> column_of(const std::vector<LeafForm>& leaves);

/// How the entries of such a branch lie: an object with the leaves of a list as members, or packed
/// numbers. Null if that is not known.
[[nodiscard]] std::shared_ptr<const EntryForm> entry_form_of(const std::vector<LeafForm>& leaves);

/// Bytes of each entry if these are numbers without lengths of their own; else 0.
[[nodiscard]] std::size_t entry_size_of(const std::vector<LeafForm>& leaves);

/// The C type of the values of an arithmetic or character leaf, as ROOT names it: "Float_t".
[[nodiscard]] std::string_view value_type_of(const LeafForm& leaf);

/// The element type of a C++ type, as ROOT names it: "unsigned int".
[[nodiscard]] std::optional<ElementType> element_named(std::string_view type);

/// Column of an unsplit branch of objects of a class; nothing if there is none. `is_known`: false
/// if the name alone does not tell.
struct ClassForm {
  bool is_known{};
  std::optional<ColumnType> column;
  bool has_header{};  ///< entries begin with that of a collection
};
[[nodiscard]] ClassForm form_of_class(std::string_view name);

}  // namespace forkrun::root_io
