#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include <forkrun/formats/root_file/object_stream.hpp>
#include <forkrun/formats/ttree/layout/leaf_form.hpp>
#include <forkrun/formats/ttree/layout/tree_members.hpp>

namespace forkrun::root_io {

/// All that trees which are merged must have in common, while their records are parsed.
class StructureText {
 public:
  void add(std::string_view part) {
    text_ += part;
    text_ += '\0';
  }
  void add(std::span<const std::byte> part) {
    add(std::string_view{reinterpret_cast<const char*>(part.data()), part.size()});
  }
  template <typename Number>
  void add_number(Number number) {
    add(std::to_string(number));
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

/// Fields before the members of a class derived from TNamed.
struct NamedRecord {
  std::string_view name;
  std::string_view title;
};
/// \throws ObjectStream::Unexpected
[[nodiscard]] NamedRecord parse_named(ObjectStream& from, StructureText& structure);

/// A leaf as a record has it, of which it holds parts.
struct LeafRecord {
  std::string_view name;
  std::optional<LeafRange> range;  ///< of texts: of their lengths; none: it says nothing
  LeafForm form;
  std::size_t counter{};  ///< number of the leaf that counts; 0: none
  std::int32_t value_size{};
  std::int32_t offset{};
  bool counts_others{};
  int version{};                        ///< of its class
  std::span<const std::byte> limits{};  ///< of texts, and where there is no range
};

/// Parses the leaves of a tree's branches.
class LeafParser {
 public:
  LeafParser(ObjectStream& from, StructureText& structure) : from_{from}, structure_{structure} {}

  /// The next one; gives its number. One of a branch within another may have been read already, as
  /// the counter of others. \throws ObjectStream::Unexpected
  std::size_t next();
  [[nodiscard]] const LeafRecord& at(std::size_t number) const { return leaves_.at(number); }

 private:
  void add_known(std::size_t number);
  void read(const ObjectStream::Pointer& pointer);
  std::size_t counter();
  void limits(LeafRecord& leaf, std::size_t n_bytes);

  ObjectStream& from_;
  StructureText& structure_;
  std::unordered_map<std::size_t, LeafRecord> leaves_;
  int depth_of_counters_{};
};

}  // namespace forkrun::root_io
