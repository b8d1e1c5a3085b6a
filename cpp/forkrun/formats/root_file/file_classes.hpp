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
  std::string name;       ///< a base class has its own
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

/// A file's description of the classes of its objects, read without ROOT.
class FileClasses {
 public:
  FileClasses() = default;
  /// `bytes`: of the list, after its key. If it is damaged, only classes before that place, or
  /// none.
  FileClasses(std::span<const std::byte> bytes, int key_length);

  /// In its newest version; null if the file does not describe it.
  [[nodiscard]] const ClassDescription* find(std::string_view name) const;

 private:
  std::vector<ClassDescription> classes_;
};

}  // namespace forkrun::root_io
