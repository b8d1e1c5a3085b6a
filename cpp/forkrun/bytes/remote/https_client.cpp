#include <forkrun/bytes/remote/https_client.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include <forkrun/bytes/remote/remote_limits.hpp>

namespace forkrun {

namespace {

/// Signatures of Amazon, Google and Azure, which refuse signed requests with a token.
constexpr std::array signatures{"X-Amz-Signature=", "X-Goog-Signature=", "Signature=", "sig="};

std::string first_word(std::istream&& text) {
  std::string word;
  text >> word;
  return word;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Current token, by the discovery of grid clients (WLCG): in BEARER_TOKEN, in the file
/// BEARER_TOKEN_FILE, in bt_u and the user's number below XDG_RUNTIME_DIR, or in /tmp; "" if there
/// is none. Of any form.
std::string bearer_token() {
  if (const auto token = first_word(std::istringstream{variable("BEARER_TOKEN")}); !token.empty()) {
    return token;
  }
  if (const auto file = variable("BEARER_TOKEN_FILE"); !file.empty()) {
    return first_word(std::ifstream{file});
  }
  const auto name = "/bt_u" + std::to_string(::geteuid());
  const auto folder = variable("XDG_RUNTIME_DIR");
  const auto token = folder.empty() ? "" : first_word(std::ifstream{folder + name});
  return token.empty() ? first_word(std::ifstream{"/tmp" + name}) : token;
}

/// Header with the token for requests to this URL; "": there is no token, or it must not be sent:
/// without TLS, or to a signed URL.
std::string authorization_for(const std::string& url) {
  const auto begin = url.find('?');
  const std::string_view query =
      begin == std::string::npos ? "" : std::string_view{url}.substr(begin);
  const bool is_signed = std::ranges::any_of(
      signatures, [&](const char* each) { return query.find(each) != std::string_view::npos; });
  const auto token = is_signed || !url.starts_with("https") ? "" : bearer_token();
  return token.empty() ? "" : "Authorization: Bearer " + token;
}

constexpr long most_redirections = 20;

enum Status : long {
  whole_file = 200,
  part_of_file = 206,
  bad_request = 400,
  no_credentials = 401,
  not_allowed = 403,
  not_there = 404,
  time_out = 408,
  gone = 410,
  no_such_range = 416,
  too_many = 429,
  server_error = 500,
  not_implemented = 501,
};

/// Answers of servers that do not accept several ranges.
bool may_refuse_many(long status) {
  return (status >= bad_request && status < server_error && status != no_credentials &&
          status != not_there && status != gone && status != time_out && status != too_many) ||
         status == server_error || status == not_implemented;
}

/// First of these environment variables that is set; nullptr: none.
const char* first_of(std::initializer_list<const char*> names) {
  for (const auto* name : names) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') {
      return value;
    }
  }
  return nullptr;
}

std::string told_range(const ByteRange& range) {
  return range.n_bytes == 0
             ? "bytes that it does not name"
             : "bytes " + std::to_string(range.place) + " to " + std::to_string(range.end());
}

}  // namespace

void KnownVersions::set(std::span<const RemoteVersion> versions) {
  const std::lock_guard lock{mutex_};
  versions_.assign(versions.begin(), versions.end());
}

RemoteVersion KnownVersions::first() const {
  const std::lock_guard lock{mutex_};
  return versions_.empty() ? RemoteVersion{} : versions_.front();
}

bool KnownVersions::has(const RemoteVersion& told) const {
  const std::lock_guard lock{mutex_};
  return versions_.empty() || std::ranges::any_of(versions_, [&told](const auto& version) {
           return version.change_to(told).empty();
         });
}

std::shared_ptr<std::atomic<bool>> takes_many_of(const std::string& url) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<std::atomic<bool>>> servers;
  const auto path = url.find('/', url.find("://") + 3);
  const std::lock_guard lock{mutex};
  auto& takes_many = servers[url.substr(0, path)];
  if (!takes_many) {
    takes_many = std::make_shared<std::atomic<bool>>(true);
  }
  return takes_many;
}

/// Passes libcurl's data to an answer.
struct HttpsClient::Taking {
  HttpsClient& client;
  RangeAnswer& answer;
  bool has_begun = false;

  static std::size_t take(char* data, std::size_t size, std::size_t n, void* self) {
    auto& taking = *static_cast<Taking*>(self);
    if (!std::exchange(taking.has_begun, true) && !taking.client.begin(taking.answer)) {
      return 0;  // the whole file, another one, or a page with an error
    }
    const std::span bytes{reinterpret_cast<std::byte*>(data), size * n};
    return taking.answer.take(bytes) ? bytes.size() : 0;
  }

  static std::size_t take_head(char* data, std::size_t size, std::size_t n, void* head) {
    static_cast<AnswerHead*>(head)->take({data, size * n});
    return size * n;
  }
};

HttpsClient::HttpsClient(const Curl& curl, const std::string& url, const KnownVersions& known)
    : curl_{curl}, handle_{curl.easy_init()}, url_{url}, known_{known} {
  const auto& limits = RemoteLimits::get();
  curl_.set(handle_, Curl::url, url.c_str());
  curl_.set(handle_, Curl::no_signal, 1L);
  curl_.set(handle_, Curl::follow, 1L);
  curl_.set(handle_, Curl::most_redirections, most_redirections);
  curl_.set(handle_, Curl::connect_timeout, static_cast<long>(limits.connection.count()));
  curl_.set(handle_, Curl::low_speed_limit, 1L);
  curl_.set(handle_, Curl::low_speed_time, static_cast<long>(limits.no_byte.count()));
  curl_.set(handle_, Curl::error_buffer, text_.data());
  curl_.set(handle_, Curl::file_time, 1L);
  curl_.set(handle_, Curl::header_function, static_cast<Curl::TakeBytes>(&Taking::take_head));
  curl_.set(handle_, Curl::header_data, &head_);
  curl_.set(handle_, Curl::write_function, static_cast<Curl::TakeBytes>(&Taking::take));
  set_certificates();
}

HttpsClient::~HttpsClient() {
  curl_.easy_cleanup(handle_);
  curl_.free_list(headers_);
}

void HttpsClient::set_certificates() {
  if (const char* proxy = std::getenv("X509_USER_PROXY")) {
    curl_.set(handle_, Curl::client_certificate, proxy);
    curl_.set(handle_, Curl::client_key, proxy);
  }
  if (const char* file = first_of({"SSL_CERT_FILE", "CURL_CA_BUNDLE"})) {
    curl_.set(handle_, Curl::ca_file, file);
  }
  if (const char* folder = first_of({"X509_CERT_DIR", "SSL_CERT_DIR"})) {
    curl_.set(handle_, Curl::ca_folder, folder);
  }
}

/// Uses the current token: it is renewed in its file while a job runs.
void HttpsClient::authorize() {
  if (auto now = authorization_for(url_); now != authorization_) {
    authorization_ = std::move(now);
    void* const before = headers_;
    headers_ = authorization_.empty() ? nullptr : curl_.append(nullptr, authorization_.c_str());
    curl_.set(handle_, Curl::headers, headers_);
    curl_.free_list(before);
  }
}

RemoteProblem HttpsClient::fetch(const RangeRequest& request, std::atomic<bool>& takes_many) {
  RangeAnswer answer{request};
  auto problem = fetch_once(request, answer);
  const auto status = told_status();
  if ((status == no_credentials || status == not_allowed) &&
      authorization_for(url_) != authorization_) {
    return fetch(request, takes_many);  // the token was renewed while the answer came
  }
  const bool is_refused = request.ranges.size() > 1 && problem && may_refuse_many(status);
  if (!problem.other && (answer.refuses_many() || is_refused)) {
    return fetch_each(request, takes_many);
  }
  return problem;
}

RemoteProblem HttpsClient::fetch_once(const RangeRequest& request, RangeAnswer& answer) {
  Taking taking{*this, answer};
  authorize();
  curl_.set(handle_, Curl::range, request.header().c_str());
  curl_.set(handle_, Curl::write_data, &taking);
  head_ = {};
  is_other_version_ = false;
  text_[0] = '\0';
  const auto code = curl_.perform(handle_);
  RemoteVersion told{std::max(answer.n_file_bytes(), head_.content.n_bytes)};
  if (is_other_version_ || !known_.has(told)) {
    if (is_other_version_) {
      told = told_version();
    }
    return {"another version of the file came", false, told};
  }
  if (const auto& other = answer.other_range()) {
    return {"the server gave " + told_range(*other) + " in place of " +
                told_range(request.ranges.front()),
            false};
  }
  const auto status = told_status();
  auto problem = problem_of(code, status);
  problem.is_answer = (status > 0 && status < server_error) || code == Curl::untrusted_server;
  if (!problem && !answer.is_whole()) {
    problem = {"the answer is shorter than what was asked for", false};
  }
  return problem;
}

/// Known once the server has delivered ranges this way.
RemoteProblem HttpsClient::fetch_each(const RangeRequest& many, std::atomic<bool>& takes_many) {
  for (const auto& request : range_requests(many.pieces, false)) {
    if (auto problem = fetch(request, takes_many)) {
      return problem;
    }
  }
  takes_many = false;
  return {};
}

RemoteProblem HttpsClient::open(RemoteVersion& version) {
  std::atomic<bool> takes_many = false;
  auto problem = fetch({{{0, 1}}, {}}, takes_many);
  version = told_version();
  if (!problem && version.n_bytes < 0) {
    problem = {"the server does not tell the size of the file", true};
  }
  return problem;
}

/// Before the first bytes of an answer. A request for the whole file may be answered without
/// ranges.
bool HttpsClient::begin(RangeAnswer& answer) {
  auto status = told_status();
  is_other_version_ = status < bad_request && !known_.has(told_version());
  std::int64_t n_bytes = -1;
  curl_.get(handle_, Curl::told_bytes, &n_bytes);
  if (status == whole_file && n_bytes == known_.first().n_bytes && answer.asks_for(n_bytes)) {
    status = part_of_file;
    head_.content = {{0, n_bytes}, n_bytes};
  }
  return !is_other_version_ && answer.begin(status, told_kind(), head_.content);
}

RemoteVersion HttpsClient::told_version() const {
  std::int64_t seconds = 0;
  curl_.get(handle_, Curl::told_file_time, &seconds);
  return {head_.content.n_bytes, std::max<std::int64_t>(seconds, 0) * 1'000'000'000, head_.tag};
}

std::string HttpsClient::told_kind() const {
  const char* kind = nullptr;
  curl_.get(handle_, Curl::told_type, &kind);
  std::string text = kind == nullptr ? "" : kind;
  std::ranges::transform(text, text.begin(), lower_case);
  return text;
}

long HttpsClient::told_status() const {
  long status = 0;
  curl_.get(handle_, Curl::told_status, &status);
  return status;
}

/// \param status 0: there was no answer
RemoteProblem HttpsClient::problem_of(int code, long status) const {
  if (code == Curl::too_many_redirections) {
    return {"redirected more than " + std::to_string(most_redirections) + " times, " +
                head_.way_from(url_),
            true};
  }
  if (status >= bad_request) {
    return refusal(status);
  }
  const bool has_come = code == Curl::ok || code == Curl::write_error;
  if (has_come && status != whole_file && status != part_of_file) {
    return {"the server says: HTTP " + std::to_string(status)};
  }
  if (code == Curl::write_error && status == part_of_file) {
    return {"the server gave other bytes than it was asked for"};
  }
  if (code == Curl::write_error) {
    const auto kind = told_kind();
    return {"the server gives no parts of files (HTTP ranges), but a whole file or page" +
                (kind.empty() ? "" : " of " + kind),
            known_.first().n_bytes < 0};
  }
  if (code == Curl::ok) {
    return status == whole_file ? RemoteProblem{"the file is empty", true} : RemoteProblem{};
  }
  const bool is_lasting = code == Curl::unsupported_protocol || code == Curl::bad_url ||
                          code == Curl::unknown_host || code == Curl::untrusted_server;
  return {text_[0] != '\0' ? text_.data() : curl_.explain(code), is_lasting};
}

RemoteProblem HttpsClient::refusal(long status) const {
  const std::string said = "the server says: HTTP " + std::to_string(status);
  switch (status) {
    case no_credentials:
    case not_allowed:
      return {said + " (not allowed: a token or signature is missing or has expired)", true};
    case not_there:
    case gone: return {said + " (no such file)", true};
    case no_such_range: return {said + " (the file is empty, or shorter than it was)", true};
    default: return {said, status < server_error && status != time_out && status != too_many};
  }
}

}  // namespace forkrun
