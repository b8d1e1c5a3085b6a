#include <forkrun/root_io/output_file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <TBasket.h>
#include <TBranch.h>
#include <TFile.h>
#include <TFree.h>
#include <TTree.h>

#include <forkrun/core/errors.hpp>
#include <forkrun/root_io/input_file.hpp>

namespace forkrun::root_io {

namespace {

/// What a branch wants to know of a basket that is on file already.
class WrittenBasket : public TBasket {
 public:
  WrittenBasket(const BasketHeader& header, std::int64_t seek_key) {
    fNbytes = header.n_bytes;
    fObjlen = header.object_length;
    fKeylen = header.key_length;
    fNevBuf = header.n_entries;
    fSeekKey = seek_key;
  }
};

/// Takes room for a record at the end of the file.
std::int64_t allocate(TFile& file, std::size_t n_bytes) {
  constexpr std::int64_t room = 1'000'000'000;  // by which ROOT, too, extends its last free segment
  const auto place = file.GetEND();
  const auto end = place + static_cast<std::int64_t>(n_bytes);
  auto& free = static_cast<TFree&>(*file.GetListOfFree()->Last());
  file.SetEND(end);
  free.SetFirst(end);
  if (end > free.GetLast()) {
    free.SetLast(free.GetLast() + room);
  }
  return place;
}

void sync(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool ok = descriptor >= 0 && ::fsync(descriptor) == 0;
  const int error = errno;
  if (descriptor >= 0) {
    ::close(descriptor);
  }
  if (!ok) {
    throw OutputError(path + ": cannot be synced: " + std::strerror(error));
  }
}

}  // namespace

OutputFile::OutputFile(const std::string& path, Compression compression) : path_{path} {
  const CapturedMessages messages;
  file_.reset(TFile::Open((path + "?reproducible=forkrun").c_str(), "RECREATE", "", compression.settings()));
  if (!file_ || file_->IsZombie()) {
    throw OutputError(path + ": cannot be created: " + messages.first());
  }
  seek_directory_ = file_->GetSeekDir();
}

OutputFile::~OutputFile() = default;

void OutputFile::append(TBranch& branch, std::span<std::byte> record, const BasketHeader& header,
                        std::int64_t first_entry) {
  const auto place = allocate(*file_, record.size());
  place_basket(record, place, seek_directory_);
  file_->Seek(place);
  if (file_->WriteBuffer(reinterpret_cast<const char*>(record.data()), static_cast<int>(record.size()))) {
    check();
  }
  WrittenBasket basket{header, place};
  branch.AddBasket(basket, true, first_entry);
}

void OutputFile::check() const {
  if (file_->TestBit(TFile::kWriteError)) {
    throw OutputError(path_ + ": cannot be written: " + std::strerror(errno != 0 ? errno : EIO) +
                      "; free some space or choose another directory");
  }
}

std::int64_t OutputFile::close() {
  const CapturedMessages messages;
  file_->Write(nullptr, TObject::kOverwrite);
  check();
  file_->Close();
  check();
  file_.reset();
  sync(path_);
  std::error_code error;
  const auto size = std::filesystem::file_size(path_, error);
  if (error) {
    throw OutputError(path_ + ": cannot be written: " + error.message());
  }
  return static_cast<std::int64_t>(size);
}

void OutputFile::abandon() noexcept {
  try {
    const CapturedMessages messages;
    file_.reset();
  } catch (...) {  // the file is removed whatever ROOT says of it
  }
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

}  // namespace forkrun::root_io
