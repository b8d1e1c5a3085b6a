#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <forkrun/bytes/compression.hpp>

class TDirectory;
class TKey;

namespace forkrun::root_io {

class InputFile;

/// An object in a file, unzipped, not interpreted. So objects of unknown classes can be compared
/// and copied.
struct ObjectRecord {
  std::string type;
  std::string name;
  std::string title;
  int key_length{};
  std::vector<std::byte> bytes;
};

/// \throws InputError naming the file and the object if its sizes do not agree or it cannot be
/// unzipped.
[[nodiscard]] ObjectRecord read_object(InputFile& file, const TKey& key, const std::string& path);

/// Writes it to a folder of an output file. Returns false, and writes nothing, if the object's key
/// would have another length there: objects may refer to places in their own record. \throws
/// OutputError
[[nodiscard]] bool write_object(TDirectory& folder, const ObjectRecord& record,
                                Compression compression);

}  // namespace forkrun::root_io
