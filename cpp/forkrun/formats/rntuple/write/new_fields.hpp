#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <forkrun/core/data/column.hpp>
#include <forkrun/core/data/unit_of_work.hpp>
#include <forkrun/formats/rntuple/schema.hpp>
#include <forkrun/formats/rntuple/write/pending_column.hpp>

namespace forkrun::rntuple {

/// A column that becomes a field.
struct NewField {
  std::string name;
  ColumnType type;
  std::string counter;  ///< name of what counts its values; "": nothing does
};

/// The stored columns of a field. Without values: it is a count, which is stored with the lists.
struct FieldPlace {
  std::vector<std::uint32_t> ends;  ///< where lists end, from the outermost
  std::optional<std::uint32_t> values;
  bool shares_ends{};  ///< the outermost lists are those of another field, which come before it
};

/// Adds fields to a schema in the layout of CMS: columns with one counter, "Jet_pt" and "Jet_eta"
/// of "nJet", become members of one list of records "Jet", and projected fields have their own
/// names; the counter is the number of records. Lists without a counter, and of one column of the
/// list's own name, are vectors. "track.x" is in a record "track".
class NewFields {
 public:
  explicit NewFields(Schema& schema);

  /// A list of records that is there already: fields with this counter become members of it.
  void know_list(const std::string& counter, std::uint32_t field);
  /// Gives such a list's count and the numbers in it names of their own, "nJet" and "Jet_pt", if
  /// nothing in it has one. Names in `taken` are left free.
  void show_members(const std::string& counter, const std::set<std::string>& taken);
  /// Gives their places, in their order. \throws Error if a name cannot be that of a field.
  std::vector<FieldPlace> add(std::span<const NewField> fields);

 private:
  struct Group {
    std::size_t n_fields{};
    std::uint32_t list{};
    std::optional<std::uint32_t> record;  ///< of its members; none: it is a vector
    std::uint32_t ends{};
    bool is_filled{};  ///< something gives the ends already
    bool has_name{};   ///< it is decided what its field is
  };

  void find_groups(std::span<const NewField> fields);
  void make_list(const NewField& first, Group& group);
  [[nodiscard]] FieldPlace add_field(const NewField& field);
  [[nodiscard]] FieldPlace add_member(const NewField& field, Group& group);
  void show_member(const std::string& name, std::uint32_t list, std::uint32_t item,
                   const std::string& type);
  void add_counter(const std::string& name, ColumnType type, const Group& group);
  [[nodiscard]] bool is_counter(const NewField& field) const;
  std::uint32_t add_item(std::optional<std::uint32_t> parent, const std::string& name,
                         ColumnType type, FieldPlace& place);
  std::uint32_t add_lists(std::optional<std::uint32_t> parent, const std::string& name,
                          ColumnType type, FieldPlace& place);
  std::uint32_t put(std::optional<std::uint32_t> parent, FieldRole role, const std::string& name,
                    const std::string& type);
  std::uint32_t put_column(const StoredColumn& column);
  std::uint32_t project(std::optional<std::uint32_t> parent, const std::string& name,
                        std::uint32_t source);
  [[nodiscard]] std::optional<std::uint32_t> record_of(std::string& name);
  [[nodiscard]] std::optional<std::uint32_t> find(std::optional<std::uint32_t> parent,
                                                  const std::string& name) const;

  Schema& schema_;
  std::map<std::string, Group> groups_;  ///< by counter
  std::set<std::string> names_;          ///< of what is added
};

/// Adds events of a column to the stored columns of its field. Distinct fields may be filled at the
/// same time.
void add_events(const Column& from, const EntryRun& events, const FieldPlace& place,
                std::span<PendingColumn> columns);

/// The same for ends of lists alone: `offsets` from where the first of them begins.
void add_ends(std::span<const std::int64_t> offsets, PendingColumn& ends);

}  // namespace forkrun::rntuple
