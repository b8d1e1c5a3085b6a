#include <forkrun/formats/root_file/file_classes.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

#include <forkrun/formats/root_file/object_stream.hpp>

namespace forkrun::root_io {

namespace {

std::pair<std::string, std::string> named(ObjectStream& from) {
  const auto object = from.object();
  from.skip_base();
  std::string name{from.text()};
  std::pair both{std::move(name), std::string{from.text()}};
  from.seek(object.end);
  return both;
}

/// Calls `one` for each object of a TObjArray.
template <typename One>
void each_of_array(ObjectStream& from, const One& one) {
  const auto object = from.object();
  from.skip_base();
  static_cast<void>(from.text());
  const auto n = from.number<std::int32_t>();
  from.skip<std::int32_t>();
  for (int i = 0; i < n; ++i) {
    one();
  }
  from.seek(object.end);
}

ClassMember parse_member(ObjectStream& from) {
  const auto pointer = from.pointer();
  ObjectStream::require(!pointer.type.empty());
  ClassMember member{std::string{pointer.type}, {}, {}, {}, 0, 0, {}};
  from.object();
  if (pointer.type == "TStreamerSTLstring") {
    from.object();  // it is one of collections
  }
  const auto element = from.object();
  constexpr int oldest = 2, n_sizes = 5;
  ObjectStream::require(element.version >= oldest);
  std::tie(member.name, member.title) = named(from);
  member.type = from.number<std::int32_t>();
  from.skip<std::int32_t>();  // bytes
  member.n_values = from.number<std::int32_t>();
  const auto n_dimensions = from.number<std::int32_t>();
  for (int i = 0; i < n_sizes; ++i) {
    const auto size = from.number<std::uint32_t>();
    if (i < n_dimensions) {
      member.sizes.push_back(size);
    }
  }
  member.type_name = from.text();
  from.seek(pointer.end);
  return member;
}

ClassDescription parse_class(ObjectStream& from) {
  ClassDescription description;
  from.object();
  description.name = named(from).first;
  description.checksum = from.number<std::uint32_t>();
  description.version = from.number<std::int32_t>();
  const auto members = from.pointer();
  ObjectStream::require(members.type == "TObjArray");
  each_of_array(from, [&] { description.members.push_back(parse_member(from)); });
  return description;
}

}  // namespace

FileClasses::FileClasses(std::span<const std::byte> bytes, int key_length) {
  try {
    ObjectStream from{bytes, key_length};
    from.object();
    from.skip_base();
    static_cast<void>(from.text());
    const auto n = from.number<std::int32_t>();
    for (int i = 0; i < n; ++i) {
      const auto pointer = from.pointer();
      if (pointer.type == "TStreamerInfo") {
        classes_.push_back(parse_class(from));
      }
      from.seek(std::max(pointer.end, from.at()));
      static_cast<void>(from.text());  // how it is drawn
    }
  } catch (const ObjectStream::Unexpected&) {
    return;  // the earlier classes are known
  }
}

const ClassDescription* FileClasses::find(std::string_view name) const {
  const ClassDescription* found = nullptr;
  for (const auto& each : classes_) {
    if (each.name == name && (found == nullptr || each.version > found->version)) {
      found = &each;
    }
  }
  return found;
}

}  // namespace forkrun::root_io
