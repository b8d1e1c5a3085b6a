#include <forkrun/root_io/input_file.hpp>

#include <fcntl.h>
#include <unistd.h>

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

namespace forkrun::root_io {

namespace {

thread_local int capture_depth = 0;
thread_local std::string first_message;
thread_local std::string first_error_message;
ErrorHandlerFunc_t earlier_handler = nullptr;

void capture(int level, Bool_t abort, const char* location, const char* message) {
  if (capture_depth == 0 || abort) {
    earlier_handler(level, abort, location, message);
  } else if (level >= kWarning && first_message.empty()) {
    first_message = message;
  }
  if (capture_depth > 0 && level >= kError && first_error_message.empty()) {
    first_error_message = message;
  }
}

/// Another library, such as PyROOT, may have put its own handler in place since.
void install_capture() {
  if (GetErrorHandler() != capture) {
    earlier_handler = SetErrorHandler(capture);
  }
}

std::string because(const std::string& reason) { return reason.empty() ? "" : ": " + reason; }

/// A file of this machine. TFile takes every path for a URL and would cut it at `#` and `?`.
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
    first_error_message.clear();
  }
}

CapturedMessages::~CapturedMessages() { --capture_depth; }

std::string CapturedMessages::first() const { return first_message; }

std::string CapturedMessages::first_error() const { return first_error_message; }

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
  while (!into.empty()) {
    const auto n = ::pread(descriptor_, into.data(), into.size(), offset);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n <= 0) {
      throw InputError(path_ + ": cannot read at byte " + std::to_string(offset) + ": " +
                       (n == 0 ? "the file ends before" : std::strerror(errno)));
    }
    into = into.subspan(static_cast<std::size_t>(n));
    offset += n;
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
