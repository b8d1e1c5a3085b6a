#include <forkrun/formats/root_file/object_record.hpp>

#include <cstring>
#include <memory>
#include <span>

#include <TDirectory.h>
#include <TFile.h>
#include <TKey.h>

#include <forkrun/bytes/zip.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/root_file/input_file.hpp>

namespace forkrun::root_io {

namespace {

/// A key with given bytes as content.
class RecordKey final : public TKey {
 public:
  RecordKey(TDirectory& folder, const ObjectRecord& record) : TKey{&folder} {
    fName = record.name.c_str();
    fTitle = record.title.c_str();
    Build(&folder, record.type.c_str(), -1);
    fKeylen = static_cast<Short_t>(Sizeof());
    fObjlen = static_cast<Int_t>(record.bytes.size());
  }

  void write(TDirectory& folder, std::span<const std::byte> payload) {
    Create(static_cast<Int_t>(payload.size()));
    fCycle = static_cast<Short_t>(folder.AppendKey(this));
    char* at = fBuffer;
    FillBuffer(at);
    std::memcpy(fBuffer + fKeylen, payload.data(), payload.size());
    if (WriteFile(0) == 0) {
      throw OutputError(std::string{folder.GetFile()->GetName()} + ": cannot be written");
    }
    DeleteBuffer();
  }
};

[[noreturn]] void throw_damaged(const InputFile& file, const std::string& path,
                                const std::string& why) {
  throw InputError(file.path() + ": object \"" + path + "\" is damaged: " + why +
                   "; make the file again, or copy it again");
}

}  // namespace

ObjectRecord read_object(InputFile& file, const TKey& key, const std::string& path) {
  const auto n_bytes = static_cast<std::int64_t>(key.GetNbytes());
  const auto n_object = static_cast<std::int64_t>(key.GetObjlen());
  if (key.GetKeylen() <= 0 || !is_possible_size(n_object, n_bytes - key.GetKeylen()) ||
      key.GetSeekKey() <= 0 || key.GetSeekKey() + n_bytes > file.file().GetSize()) {
    throw_damaged(file, path, "its sizes do not agree");
  }
  ObjectRecord record{key.GetClassName(), key.GetName(), key.GetTitle(), key.GetKeylen(), {}};
  std::vector<std::byte> bytes(static_cast<std::size_t>(n_bytes));
  file.read(key.GetSeekKey(), bytes);
  const auto payload = std::span{bytes}.subspan(static_cast<std::size_t>(key.GetKeylen()));
  try {
    record.bytes = restored(payload, static_cast<std::size_t>(n_object));
  } catch (const Error&) {
    throw_damaged(file, path, "it cannot be uncompressed");
  }
  return record;
}

bool write_object(TDirectory& folder, const ObjectRecord& record, Compression compression) {
  auto key = std::make_unique<RecordKey>(folder, record);
  const bool is_large = folder.GetFile()->GetEND() > TFile::kStartBigFile;
  const int grows = is_large && key->GetVersion() < 1000 ? 8 : 0;  // places of 8 bytes
  if (key->GetKeylen() + grows != record.key_length) {
    return false;
  }
  key.release()->write(folder, stored(record.bytes, compression));  // the folder owns its keys
  return true;
}

}  // namespace forkrun::root_io
