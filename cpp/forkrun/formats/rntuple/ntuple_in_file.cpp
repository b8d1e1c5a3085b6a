#include <forkrun/formats/rntuple/ntuple_in_file.hpp>

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <TFile.h>
#include <TKey.h>

#include <forkrun/bytes/zip.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/root_file/directory_keys.hpp>
#include <forkrun/formats/root_file/input_file.hpp>

namespace forkrun::rntuple {

namespace {

using root_io::FileKey;
using root_io::InputFile;

constexpr std::string_view class_name = "ROOT::RNTuple";
constexpr std::string_view class_before_1_0 = "ROOT::Experimental::RNTuple";

/// Of files on servers and of unusual ones, ROOT knows where the object is.
std::optional<FileKey> key_at(const InputFile& file, const std::string& path) {
  if (file.outline()) {
    return file.outline()->find(path);
  }
  const auto* key = root_io::find_object(file.file(), path);
  if (key == nullptr) {
    return {};
  }
  FileKey found;
  found.type = key->GetClassName();
  found.name = key->GetName();
  found.place = key->GetSeekKey();
  found.n_bytes = key->GetNbytes();
  found.n_object_bytes = key->GetObjlen();
  found.key_length = key->GetKeylen();
  return found;
}

std::vector<std::byte> object_at(InputFile& file, const FileKey& key) {
  const std::int64_t n_stored = key.n_bytes - key.key_length;
  if (n_stored < 0 || !is_possible_size(key.n_object_bytes, n_stored)) {
    throw Error("its key has impossible sizes");
  }
  std::vector<std::byte> stored(static_cast<std::size_t>(n_stored));
  file.read(key.place + key.key_length, stored);
  return restored(stored, static_cast<std::size_t>(key.n_object_bytes));
}

}  // namespace

std::unique_ptr<NtupleTable> ntuple_in(InputFile& file, const std::string& path) {
  const auto key = key_at(file, path);
  if (key && key->type == class_before_1_0) {
    throw InputError(file.path() + ": RNTuple \"" + path +
                     "\" is of the format as it was before its version 1.0 (" + key->type +
                     "), which nothing reads any more: write it again with ROOT 6.34 or later");
  }
  if (!key || key->type != class_name) {
    return nullptr;
  }
  return root_io::naming_file(file.path(), [&] {
    const auto anchor =
        file.reading_again({key->place, key->n_bytes}, [&] { return object_at(file, *key); });
    return std::make_unique<NtupleTable>(path, anchor, file);
  });
}

bool is_class_name(std::string_view name) { return name == class_name || name == class_before_1_0; }

}  // namespace forkrun::rntuple
