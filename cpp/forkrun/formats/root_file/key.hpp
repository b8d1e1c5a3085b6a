#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <forkrun/formats/root_file/file_record.hpp>

namespace forkrun::root_io {

/// Places after this one are written with 8 bytes, in keys, directories and the header.
constexpr std::int64_t last_small_place = 2'000'000'000;

/// Head of a record: for an object that is the only one of its name in a folder.
struct Key {
  std::string type;  ///< the object's class
  std::string name;
  std::string title;
  std::int64_t place{};          ///< place of the record
  std::int64_t directory{};      ///< the place of its directory's record
  std::size_t n_object_bytes{};  ///< before compression
  std::size_t n_stored_bytes{};  ///< as in the file

  [[nodiscard]] std::size_t length() const;
  [[nodiscard]] std::vector<std::byte> bytes() const;
};

/// A directory of a file.
struct Directory {
  std::int64_t place{};
  std::int64_t parent{};
  std::int64_t key_list{};
  std::size_t n_key_list_bytes{};
  std::size_t n_name_bytes{};  ///< of its record, before `bytes`
  Uuid uuid{};

  [[nodiscard]] std::vector<std::byte> bytes() const;  ///< n_directory_bytes of them
};

/// The first n_header_bytes of a file.
struct Header {
  FileHeader places;
  std::size_t n_name_bytes{};  ///< like the top directory's
  Uuid uuid{};

  [[nodiscard]] std::vector<std::byte> bytes() const;
};

/// A file's list of unused room: all after `end`.
[[nodiscard]] std::vector<std::byte> free_room_after(std::int64_t end);

}  // namespace forkrun::root_io
