#include <forkrun/root_io/input_file.hpp>

#include <fcntl.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>

#include <TError.h>
#include <TFile.h>
#include <TROOT.h>
#include <TTree.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/root_io/directory_walk.hpp>
#include <forkrun/root_io/local_io.hpp>

namespace forkrun::root_io {

namespace {

thread_local int capture_depth = 0;
thread_local std::string first_message;
ErrorHandlerFunc_t earlier_handler = nullptr;

void capture(int level, Bool_t abort, const char* location, const char* message) {
  if (capture_depth == 0 || abort) {
    earlier_handler(level, abort, location, message);
  } else if (level >= kWarning && first_message.empty()) {
    first_message = message;
  }
}

/// Another library, such as PyROOT, may have put its own handler in place since.
void install_capture() {
  if (GetErrorHandler() != capture) {
    earlier_handler = SetErrorHandler(capture);
  }
}

std::string because(const std::string& reason) { return reason.empty() ? "" : ": " + reason; }

std::string cannot_read(const std::string& path, std::int64_t offset, const std::string& why) {
  return path + ": cannot read at byte " + std::to_string(offset) + ": " + why;
}

/// A file of this machine. TFile takes every path for a URL and would cut it at `#` and `?`. And it
/// goes on with what it could not read: here that is an exception.
class LocalFile final : public TFile {
 public:
  /// "NET": this class opens the file itself. \throws InputError
  explicit LocalFile(const std::string& path) : TFile{"local", "NET"} {
    SetName(path.c_str());
    fRealName = path;
    fOption = "READ";
    fD = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fD < 0) {
      throw InputError(path + ": cannot be opened: " + std::strerror(errno));
    }
    TFile::Init(false);
  }

 protected:
  Long64_t SysSeek(Int_t /*descriptor*/, Long64_t offset, Int_t whence) override {
    return position_.seek(offset, whence);
  }

  /// \throws InputError
  Int_t SysRead(Int_t descriptor, void* into, Int_t n_bytes) override {
    const std::span bytes{static_cast<std::byte*>(into), static_cast<std::size_t>(n_bytes)};
    const auto n = read_at(descriptor, position_.value(), bytes);
    if (n < 0) {
      throw InputError(cannot_read(fRealName.Data(), position_.value(), std::strerror(errno)));
    }
    position_.advance(n);
    return static_cast<Int_t>(n);
  }

 private:
  FilePosition position_;
};

bool is_local(const std::string& path) { return path.find("://") == std::string::npos; }

std::string joined(const std::set<std::string>& names) {
  std::string text;
  for (const auto& name : names) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

std::string tree_names(TFile& file) {
  std::map<std::string, std::set<std::string>> names;  // by class
  for_each_object(file, [&](const std::string& path, const TKey& key, const TClass* type) {
    const bool is_tree = type != nullptr && type->InheritsFrom(TTree::Class());
    names[is_tree ? "TTree" : key.GetClassName()].insert(path);
  });
  if (names.contains("TTree")) {
    return "its trees are: " + joined(names["TTree"]);
  }
  if (names.contains("ROOT::RNTuple")) {
    return "it holds RNTuples (" + joined(names["ROOT::RNTuple"]) + "), which cannot be read yet";
  }
  return "there is no tree in it";
}

}  // namespace

CapturedMessages::CapturedMessages() {
  install_capture();
  if (capture_depth++ == 0) {
    first_message.clear();
  }
}

CapturedMessages::~CapturedMessages() { --capture_depth; }

std::string CapturedMessages::first() const { return first_message; }

InputFile::InputFile(const std::string& path) : path_{path} {
  const CapturedMessages messages;
  if (is_local(path)) {
    file_ = std::make_unique<LocalFile>(path);
    descriptor_ = file_->GetFd();
  } else {
    file_.reset(TFile::Open(path.c_str(), "READ"));
  }
  if (!file_ || file_->IsZombie()) {
    throw InputError(path + ": is not a readable ROOT file" + because(messages.first()));
  }
  if (file_->TestBit(TFile::kRecovered)) {
    throw InputError(path + ": is truncated or was not closed properly" +
                     because(messages.first()) + "; make it again, or copy it again");
  }
}

InputFile::~InputFile() = default;

TTree& InputFile::tree(const std::string& name) const {
  const CapturedMessages messages;
  auto* tree = file_->Get<TTree>(name.c_str());
  if (tree == nullptr) {
    throw InputError(path_ + ": no tree \"" + name + "\"; " + tree_names(*file_));
  }
  return *tree;
}

void InputFile::read(std::int64_t offset, std::span<std::byte> into) {
  ++read_calls_;
  read_bytes_ += static_cast<std::int64_t>(into.size());
  if (descriptor_ < 0) {
    return read_remote(offset, into);
  }
  const auto n = read_at(descriptor_, offset, into);
  if (n != static_cast<std::int64_t>(into.size())) {
    const auto at = offset + std::max<std::int64_t>(n, 0);
    throw InputError(cannot_read(path_, at, n < 0 ? std::strerror(errno) : "the file ends before"));
  }
}

void InputFile::read_remote(std::int64_t offset, std::span<std::byte> into) {
  const std::lock_guard lock{remote_};
  const CapturedMessages messages;
  if (file_->ReadBuffer(reinterpret_cast<char*>(into.data()), offset,
                        static_cast<int>(into.size()))) {
    throw InputError(path_ + ": cannot read at byte " + std::to_string(offset) +
                     because(messages.first()));
  }
}

}  // namespace forkrun::root_io
