// Files of XRootD servers, read with XrdCl. In a library of its own, loaded only for such files,
// with hidden symbols: a user's module may bring another XrdCl.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <iostream>
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

#include <forkrun/bytes/remote/remote_connection.hpp>
#include <forkrun/bytes/remote/remote_limits.hpp>
#include <forkrun/bytes/remote/stretches.hpp>

namespace forkrun {

namespace {

constexpr std::int64_t ns_per_s = 1'000'000'000;

/// Time limit without a byte of the answer.
std::uint16_t no_answer_s() {
  return static_cast<std::uint16_t>(RemoteLimits::get().no_byte.count());
}

/// Time limits; the user's environment has precedence.
void set_limits() {
  static std::once_flag once;
  std::call_once(once, [] {
    auto* limits = XrdCl::DefaultEnv::GetEnv();
    limits->PutInt("ConnectionWindow", static_cast<int>(RemoteLimits::get().connection.count()));
    limits->PutInt("ConnectionRetry", 1);
    limits->PutInt("StreamTimeout", no_answer_s());
    limits->PutInt("StreamErrorWindow", 1);  // a server that has come back is asked at once
    limits->PutInt("RequestTimeout", no_answer_s());
    limits->PutInt("TimeoutResolution", 1);
  });
}

/// Text of a server or of XrdCl, without its level: "[FATAL] Invalid address".
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
  const bool is_answer = is_lasting(status) && status.code != XrdCl::errInvalidAddr;
  return status.IsOK() ? RemoteProblem{}
                       : RemoteProblem{told(status), is_lasting(status), std::nullopt, is_answer};
}

RemoteVersion version_of(const XrdCl::StatInfo& told) {
  return {static_cast<std::int64_t>(told.GetSize()),
          static_cast<std::int64_t>(told.GetModTime()) * ns_per_s, ""};
}

using Pieces = std::span<const RemotePiece>;

/// Gets one answer, once; deletes itself then.
class OneAnswer : public XrdCl::ResponseHandler {
 public:
  void HandleResponse(XrdCl::XRootDStatus* status, XrdCl::AnyObject* response) final {
    const std::unique_ptr<XrdCl::XRootDStatus> owned_status{status};
    const std::unique_ptr<XrdCl::AnyObject> owned{response};
    const std::unique_ptr<OneAnswer> self{this};
    answered(*status, response);
  }

  /// Begins a request; if that fails, there will be no answer.
  template <typename Handler, typename Begin>
  static XrdCl::XRootDStatus ask(std::unique_ptr<Handler> handler, const Begin& begin) {
    const XrdCl::XRootDStatus status = begin(handler.get());
    if (status.IsOK()) {
      static_cast<void>(handler.release());
    }
    return status;
  }

 protected:
  /// `response`: may be null.
  virtual void answered(const XrdCl::XRootDStatus& status, XrdCl::AnyObject* response) = 0;

  /// The response, if it has this type; else null.
  template <typename Told>
  static Told* told_in(XrdCl::AnyObject* response) {
    Told* found = nullptr;
    if (response != nullptr) {
      response->Get(found);
    }
    return found;
  }
};

/// Waits for so many bytes, and reports their number.
class Answer final : public OneAnswer {
 public:
  Answer(std::shared_ptr<PendingAnswers> pending, std::uint64_t n_wanted)
      : pending_{std::move(pending)}, n_wanted_{n_wanted} {}

  /// Buffer of a range, from which its pieces are copied.
  std::byte* room_for(Stretch stretch) {
    if (stretch.is_whole()) {
      return stretch.pieces.front().into.data();
    }
    room_.resize(stretch.n_bytes());
    stretch_ = std::move(stretch);
    return room_.data();
  }

 protected:
  void answered(const XrdCl::XRootDStatus& status, XrdCl::AnyObject* response) override {
    auto problem = problem_of(status);
    if (!problem && response != nullptr && n_bytes_of(response) < n_wanted_) {
      problem = {"the answer is shorter than what was asked for", false};
    }
    if (!problem) {
      for (const auto& [place, into] : stretch_.pieces) {
        std::memcpy(into.data(), &room_[static_cast<std::size_t>(place - stretch_.place)],
                    into.size());
      }
    }
    pending_->answered(std::move(problem));
  }

 private:
  [[nodiscard]] static std::uint64_t n_bytes_of(XrdCl::AnyObject* response) {
    const auto* of_read = told_in<XrdCl::ChunkInfo>(response);
    const auto* of_many = told_in<XrdCl::VectorReadInfo>(response);
    const auto* of_pages = told_in<XrdCl::PageInfo>(response);
    return of_read != nullptr    ? of_read->length
           : of_many != nullptr  ? of_many->GetSize()
           : of_pages != nullptr ? of_pages->GetLength()
                                 : 0;
  }

  std::shared_ptr<PendingAnswers> pending_;
  std::uint64_t n_wanted_;
  Stretch stretch_{};
  std::vector<std::byte> room_{};
};

/// Checks whether an open file still has its version.
class VersionAnswer final : public OneAnswer {
 public:
  VersionAnswer(std::shared_ptr<PendingAnswers> pending, std::vector<RemoteVersion> known)
      : pending_{std::move(pending)}, known_{std::move(known)} {}

 protected:
  void answered(const XrdCl::XRootDStatus& status, XrdCl::AnyObject* response) override {
    const auto* found = told_in<XrdCl::StatInfo>(response);
    const auto told = status.IsOK() && found != nullptr ? version_of(*found) : RemoteVersion{};
    const bool is_known = std::ranges::any_of(
        known_, [&told](const auto& each) { return each.change_to(told).empty(); });
    pending_->answered(is_known ? RemoteProblem{}
                                : RemoteProblem{"another version of the file came", false, told});
  }

 private:
  std::shared_ptr<PendingAnswers> pending_;
  std::vector<RemoteVersion> known_;
};

/// Finds out whether a server has paged reads, while other requests are in flight.
class AskForPages final : public OneAnswer {
 public:
  AskForPages(const std::string& server, std::shared_ptr<std::atomic<bool>> has_pages)
      : server_{server, false}, has_pages_{std::move(has_pages)} {}

  XrdCl::XRootDStatus begin() { return server_.Protocol(this, no_answer_s()); }

 protected:
  void answered(const XrdCl::XRootDStatus& status, XrdCl::AnyObject* response) override {
    const auto* found = told_in<XrdCl::ProtocolInfo>(response);
    if (status.IsOK() && found != nullptr && !has_pages(*found)) {
      *has_pages_ = false;
      tell_once();
    }
  }

 private:
  /// XrdCl returns numbers in network byte order, or in the machine's in newer versions.
  static bool has_pages(const XrdCl::ProtocolInfo& told) {
    constexpr std::uint32_t newest_version = 0xffff;
    const auto flags = told.GetHostInfo();
    const bool is_as_it_comes = told.GetVersion() > newest_version;
    return ((is_as_it_comes ? __builtin_bswap32(flags) : flags) & kXR_suppgrw) != 0;
  }

  static void tell_once() {
    if (static std::atomic_flag is_told; !is_told.test_and_set()) {
      std::clog
          << "forkrun: a server of the input has no checksums for what it sends (paged reads of"
             " XRootD 5); damage on the way is found where the file itself has checksums\n"
          << std::flush;
    }
  }

  XrdCl::FileSystem server_;
  std::shared_ptr<std::atomic<bool>> has_pages_;
};

class XrootdConnection final : public RemoteConnection {
 public:
  RemoteProblem open(const std::string& url) {
    const auto opened = file_.Open(url, XrdCl::OpenFlags::Read, XrdCl::Access::None, no_answer_s());
    if (!opened.IsOK()) {
      return problem_of(opened);
    }
    XrdCl::StatInfo* found = nullptr;
    // The answer to the opening has it.
    const auto status = file_.Stat(false, found, no_answer_s());
    const std::unique_ptr<XrdCl::StatInfo> owned{found};
    if (status.IsOK() && found != nullptr) {
      version_ = version_of(*found);
      known_ = {version_};
    }
    std::string server;
    if (status.IsOK() && file_.GetProperty("DataServer", server)) {
      OneAnswer::ask(std::make_unique<AskForPages>(server, has_pages_),
                     [](AskForPages* asking) { return asking->begin(); });
    }
    return problem_of(status);
  }

  [[nodiscard]] RemoteVersion version() const override { return version_; }
  void accept(std::span<const RemoteVersion> known) override {
    const std::lock_guard lock{mutex_};
    known_.assign(known.begin(), known.end());
  }

  [[nodiscard]] bool has_checks() const override { return *has_pages_; }

  /// Reads pages with checksums, and requests damaged pages again: a request for each range, all at
  /// once. Many short ones that need none are a vector read, which has none. A request for size and
  /// date goes along: the file may be overwritten while it is open.
  std::int64_t read(Pieces pieces, std::function<void(const RemoteProblem&)> done,
                    Checks checks) override {
    const auto n_bytes = n_bytes_of(pieces);
    if (n_bytes == 0) {  // servers refuse to read nothing
      done({});
      return 0;
    }
    const bool are_needed = checks == Checks::always && has_checks();
    auto stretches = stretches_of(pieces, are_needed ? widest_gap(pieces) : 0);
    if (!are_needed && stretches.size() > 1 && n_bytes < stretches.size() * least_mean_stretch) {
      auto pending = std::make_shared<PendingAnswers>(std::move(done), 2);
      ask(pending, n_bytes, [&](Answer* answer) {
        return file_.VectorRead(chunks_of(pieces), nullptr, answer, no_answer_s());
      });
      ask_for_version(std::move(pending));
      return 1;
    }
    const auto n_requests = std::ssize(stretches);
    auto pending = std::make_shared<PendingAnswers>(std::move(done), stretches.size() + 1);
    for (auto& stretch : stretches) {
      const auto place = static_cast<std::uint64_t>(stretch.place);
      const auto n = stretch.n_bytes();
      ask(pending, n, [&](Answer* answer) {
        return file_.PgRead(place, static_cast<std::uint32_t>(n),
                            answer->room_for(std::move(stretch)), answer, no_answer_s());
      });
    }
    ask_for_version(std::move(pending));
    return n_requests;
  }

 private:
  /// Number of separate requests with negligible cost.
  static constexpr std::uint64_t least_mean_stretch = 256 << 10;

  static XrdCl::ChunkList chunks_of(Pieces pieces) {
    XrdCl::ChunkList chunks;
    for (const auto& [place, into] : pieces) {
      chunks.emplace_back(static_cast<std::uint64_t>(place),
                          static_cast<std::uint32_t>(into.size()), into.data());
    }
    return chunks;
  }

  template <typename Begin>
  static void ask(std::shared_ptr<PendingAnswers> pending, std::uint64_t n_bytes,
                  const Begin& begin) {
    const auto status = OneAnswer::ask(std::make_unique<Answer>(pending, n_bytes), begin);
    if (!status.IsOK()) {
      pending->answered(problem_of(status));
    }
  }

  void ask_for_version(std::shared_ptr<PendingAnswers> pending) {
    std::unique_lock lock{mutex_};
    auto answer = std::make_unique<VersionAnswer>(pending, known_);
    lock.unlock();
    const auto status = OneAnswer::ask(std::move(answer), [this](VersionAnswer* asking) {
      return file_.Stat(true, asking, no_answer_s());
    });
    if (!status.IsOK()) {
      pending->answered(problem_of(status));
    }
  }

  XrdCl::File file_{false};  // without plug-ins
  std::mutex mutex_;
  std::vector<RemoteVersion> known_;
  std::shared_ptr<std::atomic<bool>> has_pages_ = std::make_shared<std::atomic<bool>>(true);
  RemoteVersion version_{};
};

void note_stat(const XrdCl::StatInfo& told, RemoteEntry& into) {
  const auto version = version_of(told);
  into.n_bytes = version.n_bytes;
  into.modified_ns = version.modified_ns;
}

/// Notes the answer to a question about a file.
class StatAnswer final : public OneAnswer {
 public:
  StatAnswer(RemoteEntry& into, std::latch& answered) : into_{into}, answered_{answered} {}

 protected:
  void answered(const XrdCl::XRootDStatus& status, XrdCl::AnyObject* response) override {
    const auto* found = told_in<XrdCl::StatInfo>(response);
    if (status.IsOK() && found != nullptr) {
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
      server.DirList(at.GetPathWithParams(), XrdCl::DirListFlags::Stat, found, no_answer_s());
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
    const auto status =
        OneAnswer::ask(std::make_unique<StatAnswer>(entries[i], answered), [&](StatAnswer* answer) {
          return server.Stat(at.GetPathWithParams(), answer, no_answer_s());
        });
    if (!status.IsOK()) {
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
