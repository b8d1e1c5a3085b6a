#include <forkrun/root_io/reproducible_file.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

#include <TArrayC.h>
#include <TKey.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/root_io/class_descriptions.hpp>

namespace forkrun::root_io {

namespace {

void copy_at(std::fstream& file, std::int64_t place, std::span<std::byte> into) {
  file.seekg(place);
  file.read(reinterpret_cast<char*>(into.data()), static_cast<std::streamsize>(into.size()));
}

void write_at(std::fstream& file, std::int64_t place, std::span<const std::byte> bytes) {
  file.seekp(place);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

bool write_all(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto n_written = ::write(descriptor, bytes.data(), bytes.size());
    if (n_written < 0 && errno != EINTR) {
      return false;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(std::max<ssize_t>(n_written, 0)));
  }
  return true;
}

}  // namespace

/// "NET" is how ROOT's own classes of files tell TFile that they open the file themselves.
ReproducibleFile::ReproducibleFile(const std::string& path, OutputMode mode, int compression)
    : TFile{"forkrun?reproducible", "NET", "", compression} {
  const bool is_new = mode == OutputMode::create;
  if (is_new) {
    ::unlink(path.c_str());  // whoever still has the old file open writes into that
  }
  fOption = is_new ? "CREATE" : "UPDATE";
  fRealName = path;
  fD = ::open(path.c_str(), O_RDWR | O_CLOEXEC | (is_new ? O_CREAT | O_EXCL : 0), 0644);
  if (fD < 0) {
    throw OutputError(path + ": cannot be opened: " + std::strerror(errno));
  }
  SetWritable(true);
  TFile::Init(static_cast<Bool_t>(is_new));
  if (fSeekInfo != 0) {  // it existed
    Uuid before{};
    GetUUID().GetUUID(reinterpret_cast<UChar_t*>(before.data()));
    digest_.add(before);
  }
}

ReproducibleFile::~ReproducibleFile() { Close(); }  // while what it calls is still of this class

bool ReproducibleFile::append(std::span<const std::byte> bytes) {
  if (!IsOpen() || !IsWritable()) {
    return false;
  }
  add_to_digest(bytes);
  if (!write_all(fD, bytes)) {
    SetBit(kWriteError);
    SetWritable(false);
    return false;
  }
  fBytesWrite += static_cast<Long64_t>(bytes.size());
  return true;
}

Int_t ReproducibleFile::SysSync(Int_t /*descriptor*/) { return 0; }

Bool_t ReproducibleFile::WriteBuffer(const char* buffer, Int_t n_bytes) {
  const auto* begin = reinterpret_cast<const std::byte*>(buffer);
  std::vector<std::byte> bytes{begin, begin + n_bytes};
  set_dates(bytes);
  return static_cast<Bool_t>(!append(bytes));
}

void ReproducibleFile::add_to_digest(std::span<const std::byte> bytes) {
  digest_.add(static_cast<std::uint64_t>(GetRelOffset()));
  digest_.add(bytes);
}

/// Version 8 of RFC 9562: 122 bits of the writer's own choice.
Uuid ReproducibleFile::uuid() const {
  Uuid uuid{};
  const auto value = digest_.value();
  std::memcpy(uuid.data(), value.data(), uuid.size());
  uuid[6] = (uuid[6] & std::byte{0x0f}) | std::byte{0x80};
  uuid[8] = (uuid[8] & std::byte{0x3f}) | std::byte{0x80};
  return uuid;
}

bool ReproducibleFile::describes(const TList& classes) {
  const std::unique_ptr<TList> on_file{GetStreamerInfoList()};
  if (!on_file) {
    return false;
  }
  on_file->SetOwner();
  return same_classes(*on_file, classes);
}

/// As in TFile, but for what is said of the classes.
void ReproducibleFile::WriteStreamerInfo() {
  TArrayC* tagged = GetClassIndex();
  if (!IsWritable() || tagged == nullptr || (tagged->fArray[0] == 0 && fSeekInfo != 0)) {
    return;
  }
  const auto classes = describe_classes(*tagged);
  if (fSeekInfo != 0 && describes(*classes.all)) {
    return;  // ROOT met them again, as others: that depends on what the process did before
  }
  tagged->fArray[0] = 2;  // so that writing the list tags nothing
  if (fSeekInfo != 0) {
    MakeFree(fSeekInfo, fSeekInfo + fNbytesInfo - 1);
  }
  TKey key{classes.all.get(), "StreamerInfo", GetBestBuffer(), this};
  fKeys->Remove(&key);
  fSeekInfo = key.GetSeekKey();
  fNbytesInfo = key.GetNbytes();
  SumBuffer(key.GetObjlen());
  key.WriteFile(0);
  tagged->fArray[0] = 0;
}

void set_uuid(const std::string& path, const Uuid& uuid) {
  std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
  std::array<std::byte, n_header_bytes> header{};
  copy_at(file, 0, header);
  const auto place = top_directory(header);
  std::vector<std::byte> record(static_cast<std::size_t>(place.directory - place.record) +
                                n_directory_bytes);
  copy_at(file, place.record, record);
  const auto of_directory = uuid_in_directory(std::span{record}.last(n_directory_bytes));
  if (!file || of_directory.empty()) {
    throw OutputError(path + ": what was written cannot be read back");
  }
  std::ranges::copy(uuid, uuid_in_header(header).begin());
  std::ranges::copy(uuid, of_directory.begin());
  write_at(file, 0, header);
  write_at(file, place.record, record);
  file.close();
  if (!file) {
    throw OutputError(path + ": cannot be written: " + std::strerror(errno));
  }
}

}  // namespace forkrun::root_io
