#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <forkrun/bytes/remote/answer_head.hpp>
#include <forkrun/bytes/remote/curl.hpp>
#include <forkrun/bytes/remote/range_requests.hpp>
#include <forkrun/bytes/remote/remote_connection.hpp>

namespace forkrun {

/// Accepted versions of a file. Any thread.
class KnownVersions {
 public:
  void set(std::span<const RemoteVersion> versions);
  /// Whether a version is accepted, by its known attributes; false while nothing is known.
  [[nodiscard]] bool has(const RemoteVersion& told) const;
  [[nodiscard]] RemoteVersion first() const;

 private:
  mutable std::mutex mutex_;
  std::vector<RemoteVersion> versions_;
};

/// Whether a server accepts several ranges in a request, for all its files, as far as is known.
[[nodiscard]] std::shared_ptr<std::atomic<bool>> takes_many_of(const std::string& url);

/// One connection to a web server, which is kept between requests.
class HttpsClient {
 public:
  HttpsClient(const Curl& curl, const std::string& url, const KnownVersions& known);
  ~HttpsClient();
  HttpsClient(const HttpsClient&) = delete;
  HttpsClient& operator=(const HttpsClient&) = delete;

  /// `takes_many`: becomes false if the server does not accept several ranges in a request.
  RemoteProblem fetch(const RangeRequest& request, std::atomic<bool>& takes_many);
  /// Version, from the answer to a request for the first byte: signatures are for GET only.
  RemoteProblem open(RemoteVersion& version);

 private:
  struct Taking;

  void set_certificates();
  void authorize();
  RemoteProblem fetch_once(const RangeRequest& request, RangeAnswer& answer);
  RemoteProblem fetch_each(const RangeRequest& many, std::atomic<bool>& takes_many);
  [[nodiscard]] bool begin(RangeAnswer& answer);
  [[nodiscard]] RemoteVersion told_version() const;
  [[nodiscard]] RemoteProblem problem_of(int code, long status) const;
  [[nodiscard]] RemoteProblem refusal(long status) const;
  [[nodiscard]] std::string told_kind() const;
  [[nodiscard]] long told_status() const;

  const Curl& curl_;
  Curl::Handle handle_;
  std::string url_;
  const KnownVersions& known_;
  std::string authorization_;
  void* headers_ = nullptr;
  AnswerHead head_{};
  bool is_other_version_ = false;
  std::array<char, 256> text_{};
};

}  // namespace forkrun
