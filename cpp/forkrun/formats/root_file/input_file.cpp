#include <forkrun/formats/root_file/input_file.hpp>

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include <TFile.h>

#include <forkrun/bytes/byte_source.hpp>
#include <forkrun/bytes/content_digest.hpp>
#include <forkrun/bytes/local_file.hpp>
#include <forkrun/bytes/zip.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/data/input_cost.hpp>
#include <forkrun/formats/root_file/directory_keys.hpp>
#include <forkrun/formats/root_file/file_record.hpp>
#include <forkrun/formats/root_file/key_check.hpp>
#include <forkrun/formats/root_file/object_stream.hpp>
#include <forkrun/formats/root_file/output_descriptor.hpp>
#include <forkrun/formats/root_file/start_root.hpp>

namespace forkrun::root_io {

namespace {

std::string because(const std::string& reason) { return reason.empty() ? "" : ": " + reason; }

/// A file whose bytes are read here. TFile takes every path for a URL and would cut it at `#` and
/// `?`. And it continues after failed reads: here those are exceptions.
class FileOfRoot final : public TFile {
 public:
  /// "NET": it is already open. \throws InputError
  FileOfRoot(const std::string& path, std::shared_ptr<ByteSource> bytes)
      : TFile{"local", "NET"}, bytes_{std::move(bytes)} {
    SetName(path.c_str());
    fRealName = path;
    fOption = "READ";
    fD = ::open("/dev/null", O_RDONLY | O_CLOEXEC);  // a descriptor for TFile to close
    if (fD < 0) {
      throw InputError(path + ": cannot be opened: " + std::strerror(errno));
    }
    TFile::Init(false);
  }

  [[nodiscard]] Long64_t GetSize() const override { return bytes_->n_bytes(); }

 protected:
  Long64_t SysSeek(Int_t /*descriptor*/, Long64_t offset, Int_t whence) override {
    return position_.seek(offset, whence);
  }

  /// \throws InputError
  Int_t SysRead(Int_t /*descriptor*/, void* into, Int_t n_bytes) override {
    ReadAccount account;
    const std::span bytes{static_cast<std::byte*>(into), static_cast<std::size_t>(n_bytes)};
    const auto n = bytes_->read(position_.value(), bytes, account);
    position_.advance(n);
    return static_cast<Int_t>(n);
  }

 private:
  std::shared_ptr<ByteSource> bytes_;
  FilePosition position_;
};

}  // namespace

void rethrow_with_file(const std::string& path) {
  try {
    throw;
  } catch (const InputError& error) {
    const std::string what = error.what();
    if (what.find(path) != std::string::npos) {
      throw;
    }
    throw InputError(path + ": " + what);
  } catch (const OutputError&) {
    throw;
  } catch (const Stopped&) {
    throw;
  } catch (const Error& error) {
    throw InputError(path + ": " + error.what());
  } catch (const std::bad_alloc&) {
    throw InputError(path + ": more memory is needed than there is; the file may be damaged");
  } catch (const std::exception& error) {
    throw InputError(path + ": cannot be read: " + error.what() + "; the file may be damaged");
  }
}

bool is_opened_again(const std::string& path, const Error& because) {
  const bool is_remote = !LocalFile::is_path(path);
  if (is_remote) {
    say(std::string{because.what()} + "; opening it again");
  }
  return is_remote;
}

InputFile::InputFile(const std::string& path) : InputFile{path, WithoutRoot{}} {
  if (outline_) {
    identity_.uuid = outline_->uuid();
    return;
  }
  check_keys();  // before ROOT reads it
  if (!bytes_) {
    identity_.n_bytes = file().GetSize();
  }
  identity_.uuid = uuid();
}

/// Identity of files of Geant4's analysis and of old ROOT, which have no UUID, and for which ROOT
/// makes up another each time: a digest of the header, the directory and the list of its keys, with
/// their dates and places.
std::string InputFile::uuid() {
  static_cast<void>(file());
  std::vector<std::byte> header(n_header_bytes);
  std::vector<std::byte> directory(n_directory_bytes);
  read(0, header);
  read(top_directory(header).directory, directory);
  if (has_uuid(directory)) {
    return file().GetUUID().AsString();
  }
  const auto list = parse_directory(directory).key_list;
  std::vector<std::byte> keys(static_cast<std::size_t>(std::max(list.n_bytes, 0)));
  read(list.place, keys);
  ContentDigest digest;
  digest.add(header);
  digest.add(directory);
  digest.add(keys);
  return uuid_text(uuid_of(digest));
}

InputFile::InputFile(const std::string& path, WithoutRoot /*tag*/)
    : path_{path}, bytes_{open_bytes(path)} {
  if (bytes_) {
    identity_ = {"", bytes_->n_bytes(), bytes_->modified_ns()};
    outline_ = FileOutline::of(identity_.n_bytes, reading());
    if (!outline_ && forget_damaged({0, identity_.n_bytes})) {
      outline_ = FileOutline::of(identity_.n_bytes, reading());
    }
  }
}

InputFile::~InputFile() = default;

bool InputFile::is_local() const { return LocalFile::is_path(path_); }

TFile& InputFile::file() const {
  if (!file_) {
    open_with_root();
  }
  return *file_;
}

void InputFile::open_with_root() const {
  start_root();
  const CapturedMessages messages;
  std::unique_ptr<TFile> file{naming_file(path_, [&]() -> TFile* {
    return bytes_ ? new FileOfRoot{path_, bytes_} : TFile::Open(path_.c_str(), "READ");
  })};
  if (!file || file->IsZombie()) {
    throw InputError(path_ + ": is not a readable ROOT file" + because(messages.first()));
  }
  if (file->TestBit(TFile::kRecovered)) {
    throw InputError(path_ + ": is truncated or was not closed properly" +
                     because(messages.first()) + "; make it again, or copy it again");
  }
  messages.require_undamaged(path_);
  file_ = std::move(file);
}

void InputFile::check_keys() const {
  if (!bytes_) {
    return;  // ROOT reports it
  }
  reading_again({0, identity_.n_bytes}, [this] {
    const auto unlisted = is_local() ? Unlisted::looked_for : Unlisted::passed_over;
    const auto problem = disagreeing_key(identity_.n_bytes, reading(), unlisted);
    if (!problem.empty()) {
      fail_damaged(path_, problem);
    }
  });
}

bool InputFile::forget_damaged(const ByteRange& range) const {
  return bytes_ && bytes_->forget_damaged(range);
}

FileOutline::Read InputFile::reading() const {
  return [this](std::int64_t place, std::span<std::byte> into) {
    ReadAccount account;
    const auto n = bytes_->read(place, into, account);
    if (!is_local()) {  // remote reads are counted at the server
      add(account);
    }
    return n == std::ssize(into);
  };
}

Compression InputFile::compression() const {
  return outline_ ? Compression::of_settings(outline_->header().compression)
                  : Compression{file().GetCompressionAlgorithm(), file().GetCompressionLevel()};
}

bool InputFile::has(const std::string& name) const {
  return outline_ ? outline_->find(name).has_value() : file().GetKey(name.c_str()) != nullptr;
}

bool InputFile::has_references() const {
  return outline_ ? std::ranges::count(outline_->keys(), "TProcessID", &FileKey::type) > 0
                  : file().GetNProcessIDs() > 0;
}

void InputFile::check_identity(const FileIdentity& indexed) const {
  const bool is_same_time =
      indexed.modified_ns == 0 || identity_.modified_ns == indexed.modified_ns;
  if (identity_.uuid != indexed.uuid || identity_.n_bytes != indexed.n_bytes || !is_same_time) {
    const auto what = identity_.n_bytes != indexed.n_bytes ? "its size is another"
                      : identity_.uuid != indexed.uuid     ? "its UUID is another"
                                                           : "it was written again";
    throw InputError(path_ + ": changed since it was indexed: " + what +
                     "; start the job again with files that stay as they are");
  }
}

const FileClasses& InputFile::classes() const {
  std::call_once(classes_once_, [this] {
    try {
      classes_ = read_classes();
    } catch (const UnreadBytes&) {
      throw;
    } catch (const Error&) {
      classes_ = {};
    }
  });
  return classes_;
}

/// \throws Error if they are damaged.
FileClasses InputFile::read_classes() const {
  const auto place = outline_ ? outline_->header().classes
                              : RecordPlace{file().GetSeekInfo(),
                                            static_cast<std::int32_t>(file().GetNbytesInfo())};
  if (place.n_bytes <= 0 || place.place <= 0 || place.place > size() - place.n_bytes) {
    return {};
  }
  std::vector<std::byte> record(static_cast<std::size_t>(place.n_bytes));
  return reading_again({place.place, place.n_bytes}, [&]() -> FileClasses {
    read(place.place, record);
    try {
      ObjectStream from{record, 0};
      const auto key = parse_file_key(from);
      const auto n_stored = place.n_bytes - key.key_length;
      ObjectStream::require(n_stored > 0 && is_possible_size(key.n_object_bytes, n_stored));
      return {restored(std::span{record}.subspan(static_cast<std::size_t>(key.key_length)),
                       static_cast<std::size_t>(key.n_object_bytes)),
              key.key_length};
    } catch (const ObjectStream::Unexpected&) {
      throw Error("the descriptions of classes are damaged");
    }
  });
}

void InputFile::add(const ReadAccount& account) const {
  read_calls_ += account.calls;
  read_bytes_ += account.bytes;
  cached_bytes_ += account.cached_bytes;
}

void InputFile::read(std::int64_t offset, std::span<std::byte> into) const {
  if (!bytes_) {
    return read_with_root(offset, into);
  }
  ReadAccount account;
  const auto n = bytes_->read(offset, into, account);
  add(account);
  if (n != std::ssize(into)) {
    throw InputError(cannot_read(path_, offset + n, "the file ends before"));
  }
}

void InputFile::read_verified(std::int64_t offset, std::span<std::byte> into) const {
  if (bytes_ && bytes_->forget_unverified({offset, std::ssize(into)})) {
    read(offset, into);
  }
}

void InputFile::expect(std::span<const ByteRange> ranges) const {
  if (bytes_) {
    ReadAccount account;
    bytes_->expect(ranges, account);
    add(account);
  }
}

void InputFile::read_with_root(std::int64_t offset, std::span<std::byte> into) const {
  const ReadingNote note{into.size()};
  const std::lock_guard lock{with_root_};
  const CapturedMessages messages;
  add({1, std::ssize(into)});
  if (file().ReadBuffer(reinterpret_cast<char*>(into.data()), offset,
                        static_cast<int>(into.size()))) {
    throw InputError(cannot_read(path_, offset, messages.first()));
  }
}

}  // namespace forkrun::root_io
