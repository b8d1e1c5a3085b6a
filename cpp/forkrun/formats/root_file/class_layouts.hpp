#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace forkrun::root_io {

/// A base class or member, like ROOT's TStreamerElement.
struct ElementLayout {
  std::string_view kind{};  ///< ROOT's class of its description
  std::int16_t version_of_kind{};
  const char* name{};
  const char* title{};
  std::int32_t type{};
  std::int32_t size{};
  std::int32_t array_length{};
  std::int32_t array_dim{};
  std::array<std::int32_t, 5> max_index{};
  const char* type_name{};
  std::int32_t version{};  ///< of a base class, or of the class with the member `count_name`; of a
                           ///< collection of the C++ library ROOT's number for its kind
  const char* count_name{};   ///< the member with the length, of a pointer to basic types
  const char* count_class{};  ///< the class of that member
  std::int32_t value_type{};  ///< of values in such a collection
};

/// Description of a class in files, for readers that do not know it.
struct ClassLayout {
  const char* name{};
  std::int32_t version{};
  std::uint32_t checksum{};
  std::span<const ElementLayout> elements;
  std::span<const char* const> rules;  ///< for reading older versions
};

/// All classes that PlainFile can describe, by name; print_class_layouts.cpp makes them from the
/// installed ROOT when forkrun is built, whose release in ROOT's files is `root_release`
/// (64000: 6.40.00).
[[nodiscard]] std::span<const ClassLayout> class_layouts();
/// The one of this name, nullptr if there is none.
[[nodiscard]] const ClassLayout* class_layout(std::string_view name);
extern const std::int32_t root_release;

struct ClassesInFile {
  std::set<std::string> objects;        ///< written objects
  std::set<std::string> null_pointers;  ///< null pointers
};

/// Classes that ROOT describes, more than these, by name.
[[nodiscard]] std::vector<const ClassLayout*> layouts_of(const ClassesInFile& classes);

class ObjectWriter;

/// The list of a file's record "StreamerInfo".
void write_layouts(ObjectWriter& to, std::span<const ClassLayout* const> layouts);

}  // namespace forkrun::root_io
