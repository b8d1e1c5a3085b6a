#include <forkrun/formats/root_file/reproducible_file.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

#include <TArrayC.h>
#include <TKey.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/root_file/class_descriptions.hpp>
#include <forkrun/formats/root_file/output_descriptor.hpp>

namespace forkrun::root_io {

/// "NET" tells TFile that a derived class opens the file itself.
ReproducibleFile::ReproducibleFile(const std::string& path, OutputMode mode, int compression)
    : TFile{"forkrun?reproducible", "NET", "", compression} {
  const bool is_new = mode == OutputMode::create;
  fOption = is_new ? "CREATE" : "UPDATE";
  fRealName = path;
  open(path, mode);
  if (fSeekInfo != 0) {  // it existed
    Uuid before{};
    GetUUID().GetUUID(reinterpret_cast<UChar_t*>(before.data()));
    digest_.add(before);
  }
}

void ReproducibleFile::open(const std::string& path, OutputMode mode) {
  descriptor_ = open_output(path, mode);
  fD = descriptor_;
  SetWritable(true);
  try {
    TFile::Init(static_cast<Bool_t>(mode == OutputMode::create));
  } catch (...) {  // TFile's destructor also removes it from ROOT's list of files
    descriptor_ = -1;
    SetWritable(false);
    throw;
  }
}

ReproducibleFile::~ReproducibleFile() {
  try {
    Close();                      // while virtual calls still reach this class
  } catch (const OutputError&) {  // it is abandoned, and cannot be written any more
    Close();
  }
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

bool ReproducibleFile::append(std::span<const std::byte> bytes,
                              std::span<const std::size_t> sizes) {
  if (!IsOpen() || !IsWritable()) {
    return false;
  }
  std::size_t n_added = 0;
  for (const auto size : sizes) {
    add_to_digest(GetRelOffset() + static_cast<std::int64_t>(n_added),
                  bytes.subspan(n_added, size));
    n_added += size;
  }
  if (n_added < bytes.size()) {
    add_to_digest(GetRelOffset() + static_cast<std::int64_t>(n_added), bytes.subspan(n_added));
  }
  if (!write_at(fD, position_.value(), bytes)) {
    error_ = errno;
    SetBit(kWriteError);
    SetWritable(false);
    return false;
  }
  position_.advance(static_cast<std::int64_t>(bytes.size()));
  fBytesWrite += static_cast<Long64_t>(bytes.size());
  return true;
}

Int_t ReproducibleFile::SysClose(Int_t /*descriptor*/) { return 0; }

/// \throws OutputError: ROOT would continue after a failed read.
Int_t ReproducibleFile::SysRead(Int_t descriptor, void* into, Int_t n_bytes) {
  const std::span bytes{static_cast<std::byte*>(into), static_cast<std::size_t>(n_bytes)};
  const auto n = read_at(descriptor, position_.value(), bytes);
  if (n < 0) {
    error_ = errno;
    SetWritable(false);
    fail("cannot be read", error_);
  }
  position_.advance(n);
  return static_cast<Int_t>(n);
}

Long64_t ReproducibleFile::SysSeek(Int_t /*descriptor*/, Long64_t offset, Int_t whence) {
  return position_.seek(offset, whence);
}

Int_t ReproducibleFile::SysSync(Int_t /*descriptor*/) { return 0; }

Bool_t ReproducibleFile::WriteBuffer(const char* buffer, Int_t n_bytes) {
  const auto* begin = reinterpret_cast<const std::byte*>(buffer);
  std::vector<std::byte> bytes{begin, begin + n_bytes};
  set_dates(bytes);
  return static_cast<Bool_t>(!append(bytes));
}

void ReproducibleFile::add_to_digest(std::int64_t place, std::span<const std::byte> bytes) {
  digest_.add(static_cast<std::uint64_t>(place));
  digest_.add(bytes);
}

Uuid ReproducibleFile::uuid() const { return uuid_of(digest_); }

bool ReproducibleFile::describes(const TList& classes) {
  const std::unique_ptr<TList> on_file{GetStreamerInfoList()};
  if (!on_file) {
    return false;
  }
  on_file->SetOwner();
  return same_classes(*on_file, classes);
}

/// Like TFile's, except for the description of the classes.
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

void ReproducibleFile::set_uuid() {
  const std::string path = fRealName.Data();
  std::array<std::byte, n_header_bytes> header{};
  std::array<std::byte, n_directory_bytes> directory{};
  const bool has_header = read_at(descriptor_, 0, header) == n_header_bytes;
  const auto place = top_directory(header).directory;
  const bool is_read = has_header && read_at(descriptor_, place, directory) == n_directory_bytes;
  const auto of_directory = uuid_in_directory(directory);
  if (!is_read || of_directory.empty()) {
    throw OutputError(path + ": what was written cannot be read back");
  }
  std::ranges::copy(uuid(), uuid_in_header(header).begin());
  std::ranges::copy(uuid(), of_directory.begin());
  if (!write_at(descriptor_, 0, header) || !write_at(descriptor_, place, directory)) {
    fail("cannot be written", errno);
  }
}

std::int64_t ReproducibleFile::finish() {
  set_uuid();
  return finish_output(descriptor_, fRealName.Data());
}

void ReproducibleFile::fail(const std::string& what, int error) const {
  fail_output(fRealName.Data(), what, error);
}

}  // namespace forkrun::root_io
