// Files of XRootD servers, by XrdCl. In a library of its own, which is loaded for such files alone
// and keeps its symbols for itself: a user's module may bring another XrdCl.
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <XProtocol/XProtocol.hh>
#include <XrdCl/XrdClDefaultEnv.hh>
#include <XrdCl/XrdClEnv.hh>
#include <XrdCl/XrdClFile.hh>
#include <XrdCl/XrdClFileSystem.hh>
#include <XrdCl/XrdClXRootDResponses.hh>

#include <forkrun/bytes/remote_connection.hpp>

namespace forkrun {

namespace {

constexpr std::int64_t ns_per_s = 1'000'000'000;
constexpr std::uint16_t no_answer_s = 60;  ///< without a byte of the answer

/// Limits of time; what people have set in the environment stays.
void set_limits() {
  static std::once_flag once;
  std::call_once(once, [] {
    auto* limits = XrdCl::DefaultEnv::GetEnv();
    limits->PutInt("ConnectionWindow", 30);
    limits->PutInt("ConnectionRetry", 1);
    limits->PutInt("StreamTimeout", no_answer_s);
    limits->PutInt("StreamErrorWindow", 1);  // a server that has come back is asked at once
    limits->PutInt("RequestTimeout", no_answer_s);
    limits->PutInt("TimeoutResolution", 1);
  });
}

/// What a server says, or what XrdCl does, without its level: "[FATAL] Invalid address".
std::string told(const XrdCl::XRootDStatus& status) {
  if (status.code == XrdCl::errErrorResponse && !status.GetErrorMessage().empty()) {
    return "the server says: " + status.GetErrorMessage();
  }
  auto text = status.ToStr();
  if (const auto level = text.find("] "); text.starts_with('[') && level != std::string::npos) {
    text.erase(0, level + 2);
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\0')) {
    text.pop_back();
  }
  return text.empty() ? "unknown error" : text;
}

bool is_lasting(const XrdCl::XRootDStatus& status) {
  switch (status.code) {
    case XrdCl::errAuthFailed:
    case XrdCl::errInvalidArgs:
    case XrdCl::errInvalidAddr: return true;
    case XrdCl::errErrorResponse:
      return status.errNo == kXR_NotFound || status.errNo == kXR_NotAuthorized ||
             status.errNo == kXR_isDirectory || status.errNo == kXR_NotFile;
    default: return false;
  }
}

RemoteProblem problem_of(const XrdCl::XRootDStatus& status) {
  return status.IsOK() ? RemoteProblem{} : RemoteProblem{told(status), is_lasting(status)};
}

/// Waits for one answer; deletes itself.
class Answer final : public XrdCl::ResponseHandler {
 public:
  explicit Answer(std::function<void(const RemoteProblem&)> done) : done_{std::move(done)} {}

  void HandleResponse(XrdCl::XRootDStatus* status, XrdCl::AnyObject* response) override {
    const std::unique_ptr<XrdCl::XRootDStatus> owned_status{status};
    const std::unique_ptr<XrdCl::AnyObject> owned{response};
    const std::unique_ptr<Answer> self{this};
    done_(problem_of(*status));
  }

 private:
  std::function<void(const RemoteProblem&)> done_;
};

class XrootdConnection final : public RemoteConnection {
 public:
  RemoteProblem open(const std::string& url) {
    const auto opened = file_.Open(url, XrdCl::OpenFlags::Read, XrdCl::Access::None, no_answer_s);
    if (!opened.IsOK()) {
      return problem_of(opened);
    }
    XrdCl::StatInfo* found = nullptr;
    const auto status = file_.Stat(false, found, no_answer_s);  // the answer to the opening has it
    const std::unique_ptr<XrdCl::StatInfo> owned{found};
    if (status.IsOK() && found != nullptr) {
      n_bytes_ = static_cast<std::int64_t>(found->GetSize());
      modified_ns_ = static_cast<std::int64_t>(found->GetModTime()) * ns_per_s;
    }
    return problem_of(status);
  }

  [[nodiscard]] std::int64_t n_bytes() const override { return n_bytes_; }
  [[nodiscard]] std::int64_t modified_ns() const override { return modified_ns_; }

  void read(std::span<const RemotePiece> pieces,
            std::function<void(const RemoteProblem&)> done) override {
    auto answer = std::make_unique<Answer>(done);
    const auto status = begin(pieces, answer.get());
    if (status.IsOK()) {
      static_cast<void>(answer.release());  // it is called, and deletes itself
    } else {
      done(problem_of(status));
    }
  }

 private:
  XrdCl::XRootDStatus begin(std::span<const RemotePiece> pieces, Answer* answer) {
    if (pieces.size() == 1) {
      const auto& [place, into] = pieces.front();
      return file_.Read(static_cast<std::uint64_t>(place), static_cast<std::uint32_t>(into.size()),
                        into.data(), answer, no_answer_s);
    }
    XrdCl::ChunkList chunks;
    for (const auto& [place, into] : pieces) {
      chunks.emplace_back(static_cast<std::uint64_t>(place),
                          static_cast<std::uint32_t>(into.size()), into.data());
    }
    return file_.VectorRead(chunks, nullptr, answer, no_answer_s);
  }

  XrdCl::File file_{false};  // without plug-ins
  std::int64_t n_bytes_{};
  std::int64_t modified_ns_{};
};

void note_stat(const XrdCl::StatInfo& told, RemoteEntry& into) {
  into.n_bytes = static_cast<std::int64_t>(told.GetSize());
  into.modified_ns = static_cast<std::int64_t>(told.GetModTime()) * ns_per_s;
}

/// Notes the answer to a question about a file; deletes itself.
class StatAnswer final : public XrdCl::ResponseHandler {
 public:
  StatAnswer(RemoteEntry& into, std::latch& answered) : into_{into}, answered_{answered} {}

  void HandleResponse(XrdCl::XRootDStatus* status, XrdCl::AnyObject* response) override {
    const std::unique_ptr<XrdCl::XRootDStatus> owned_status{status};
    const std::unique_ptr<XrdCl::AnyObject> owned{response};
    const std::unique_ptr<StatAnswer> self{this};
    XrdCl::StatInfo* found = nullptr;
    if (response != nullptr) {
      response->Get(found);
    }
    if (status->IsOK() && found != nullptr) {
      note_stat(*found, into_);
    }
    answered_.count_down();
  }

 private:
  RemoteEntry& into_;
  std::latch& answered_;
};

}  // namespace

extern "C" [[gnu::visibility("default")]] RemoteListing forkrun_list_remote(
    const std::string& url) {
  set_limits();
  const XrdCl::URL at{url};
  XrdCl::FileSystem server{at, false};
  XrdCl::DirectoryList* found = nullptr;
  const auto status =
      server.DirList(at.GetPathWithParams(), XrdCl::DirListFlags::Stat, found, no_answer_s);
  const std::unique_ptr<XrdCl::DirectoryList> owned{found};
  RemoteListing listing{{}, problem_of(status)};
  if (found != nullptr) {
    for (const auto* each : std::ranges::subrange(found->Begin(), found->End())) {
      const auto* info = each->GetStatInfo();
      auto& entry = listing.entries.emplace_back(RemoteEntry{each->GetName()});
      if (info != nullptr) {
        entry.is_folder = info->TestFlags(XrdCl::StatInfo::IsDir);
        note_stat(*info, entry);
      }
    }
  }
  return listing;
}

extern "C" [[gnu::visibility("default")]] std::vector<RemoteEntry> forkrun_stat_remote(
    std::span<const std::string> urls) {
  set_limits();
  std::vector<RemoteEntry> entries(urls.size());
  std::latch answered{std::ssize(urls)};
  std::map<std::string, XrdCl::FileSystem> servers;
  for (std::size_t i = 0; i < urls.size(); ++i) {
    const XrdCl::URL at{urls[i]};
    auto& server = servers.try_emplace(at.GetHostId(), at, false).first->second;
    auto answer = std::make_unique<StatAnswer>(entries[i], answered);
    if (server.Stat(at.GetPathWithParams(), answer.get(), no_answer_s).IsOK()) {
      static_cast<void>(answer.release());  // it is called, and deletes itself
    } else {
      answered.count_down();
    }
  }
  answered.wait();
  return entries;
}

extern "C" [[gnu::visibility("default")]] RemoteOpened forkrun_open_remote(const std::string& url) {
  set_limits();
  auto connection = std::make_unique<XrootdConnection>();
  if (auto problem = connection->open(url)) {
    return {nullptr, std::move(problem)};
  }
  return {std::move(connection), {}};
}

}  // namespace forkrun
