#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace forkrun::root_io {

/// A base class or member, as a file describes it.
struct ClassMember {
  std::string kind;       ///< ROOT's class for it: "TStreamerBasicType"
  std::string name;       ///< of a base class its own
  std::string title;      ///< of packed numbers with their range
  std::string type_name;  ///< "float", "vector<int>", "TVector3"
  int type{};             ///< ROOT's number
  std::int32_t n_values{};
  std::vector<std::uint32_t> sizes;  ///< of an array
};

struct ClassDescription {
  std::string name;
  std::int32_t version{};
  std::uint32_t checksum{};
  std::vector<ClassMember> members;
};

/// What a file says of the classes whose objects it holds, read without ROOT.
class FileClasses {
 public:
  FileClasses() = default;
  /// `bytes`: of the list, behind its key. None, or those before the place, if it is damaged.
  FileClasses(std::span<const std::byte> bytes, int key_length);

  /// In its newest version; null if the file does not describe it.
  [[nodiscard]] const ClassDescription* find(std::string_view name) const;

 private:
  std::vector<ClassDescription> classes_;
};

}  // namespace forkrun::root_io
