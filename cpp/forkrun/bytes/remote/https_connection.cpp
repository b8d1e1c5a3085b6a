#include <forkrun/bytes/remote/https_connection.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <forkrun/bytes/remote/curl.hpp>
#include <forkrun/bytes/remote/range_requests.hpp>
#include <forkrun/bytes/remote/remote_limits.hpp>

namespace forkrun {

namespace {

/// Requests that are made at the same time.
constexpr int n_at_once = 8;

/// Gives an answer what libcurl has of it.
struct Taking {
  const Curl& curl;
  Curl::Handle handle;
  RangeAnswer& answer;
  bool has_begun = false;

  static std::size_t take(char* data, std::size_t size, std::size_t n, void* self) {
    auto& taking = *static_cast<Taking*>(self);
    if (!std::exchange(taking.has_begun, true) && !taking.begin()) {
      return 0;  // the whole file, or a page that says what is wrong
    }
    const std::span bytes{reinterpret_cast<std::byte*>(data), size * n};
    return taking.answer.take(bytes) ? bytes.size() : 0;
  }

  [[nodiscard]] bool begin() const {
    long status = 0;
    const char* kind = nullptr;
    curl.get(handle, Curl::told_status, &status);
    curl.get(handle, Curl::told_type, &kind);
    return answer.begin(status, kind == nullptr ? "" : kind);
  }
};

std::size_t pass_over(char* /*data*/, std::size_t size, std::size_t n, void* /*into*/) {
  return size * n;
}

/// \param status 0: there was no answer
RemoteProblem problem_of(const Curl& curl, int code, long status, const char* text) {
  if (status >= 400) {
    const std::string said = "the server says: HTTP " + std::to_string(status);
    switch (status) {
      case 401:
      case 403:
        return {said + " (not allowed: a token or signature is missing or has expired)", true};
      case 404:
      case 410: return {said + " (no such file)", true};
      case 416: return {said + " (the file is empty, or shorter than it was)", true};
      default: return {said, status < 500 && status != 408 && status != 429};
    }
  }
  if (code == Curl::write_error && status == 200) {
    return {"the server gives no parts of files (HTTP ranges)", true};
  }
  if (code == Curl::ok) {
    return status == 200 ? RemoteProblem{"the file is empty", true} : RemoteProblem{};
  }
  const bool is_lasting = code == Curl::unsupported_protocol || code == Curl::bad_url ||
                          code == Curl::unknown_host || code == Curl::untrusted_server;
  return {*text != '\0' ? text : curl.explain(code), is_lasting};
}

/// Of these variables of the environment; nullptr: none is set.
const char* first_of(std::initializer_list<const char*> names) {
  for (const auto* name : names) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') {
      return value;
    }
  }
  return nullptr;
}

/// The token that XrdCl and other clients of grids take as well; "" if there is none.
std::string bearer_token() {
  if (const char* token = std::getenv("BEARER_TOKEN")) {
    return token;
  }
  std::string token;
  if (const char* path = std::getenv("BEARER_TOKEN_FILE")) {
    std::ifstream{path} >> token;
  }
  return token;
}

/// One connection, which is kept between requests.
class Client {
 public:
  Client(const Curl& curl, const std::string& url) : curl_{curl}, handle_{curl.easy_init()} {
    const auto& limits = RemoteLimits::get();
    curl_.set(handle_, Curl::url, url.c_str());
    curl_.set(handle_, Curl::no_signal, 1L);
    curl_.set(handle_, Curl::follow, 1L);
    curl_.set(handle_, Curl::connect_timeout, static_cast<long>(limits.connection.count()));
    curl_.set(handle_, Curl::low_speed_limit, 1L);
    curl_.set(handle_, Curl::low_speed_time, static_cast<long>(limits.no_byte.count()));
    curl_.set(handle_, Curl::error_buffer, text_.data());
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
    if (const auto token = bearer_token(); !token.empty() && url.starts_with("https")) {
      headers_ = curl_.append(nullptr, ("Authorization: Bearer " + token).c_str());
      curl_.set(handle_, Curl::headers, headers_);
    }
  }
  ~Client() {
    curl_.easy_cleanup(handle_);
    curl_.free_list(headers_);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// `takes_many`: becomes false where the server does not take several ranges in a request.
  RemoteProblem fetch(const RangeRequest& request, std::atomic<bool>& takes_many) {
    RangeAnswer answer{request};
    Taking taking{curl_, handle_, answer};
    curl_.set(handle_, Curl::range, request.header().c_str());
    curl_.set(handle_, Curl::write_function, static_cast<Curl::TakeBytes>(&Taking::take));
    curl_.set(handle_, Curl::write_data, &taking);
    auto problem = perform();
    if (answer.refuses_many()) {
      takes_many = false;
      return fetch_each(request, takes_many);
    }
    if (!problem && !answer.is_whole()) {
      problem = {"the answer is shorter than what was asked for", false};
    }
    return problem;
  }

  /// Size, from the answer to a request for the first byte: signatures are for GET alone.
  RemoteProblem open(std::int64_t& n_bytes, std::int64_t& modified_ns) {
    std::string told;
    curl_.set(handle_, Curl::file_time, 1L);
    curl_.set(handle_, Curl::header_function, static_cast<Curl::TakeBytes>(&note_range));
    curl_.set(handle_, Curl::header_data, &told);
    std::atomic<bool> takes_many = false;
    auto problem = fetch({{{0, 1}}, {}}, takes_many);
    curl_.set(handle_, Curl::header_function, static_cast<Curl::TakeBytes>(&pass_over));
    std::int64_t seconds = 0;
    curl_.get(handle_, Curl::told_file_time, &seconds);
    modified_ns = std::max<std::int64_t>(seconds, 0) * 1'000'000'000;
    const auto slash = told.find('/');
    if (!problem &&
        (slash == std::string::npos ||
         std::from_chars(&told[slash + 1], &told[told.size()], n_bytes).ec != std::errc{})) {
      problem = {"the server does not tell the size of the file", true};
    }
    return problem;
  }

 private:
  RemoteProblem fetch_each(const RangeRequest& many, std::atomic<bool>& takes_many) {
    for (const auto& request : range_requests(many.pieces, false)) {
      if (const auto problem = fetch(request, takes_many)) {
        return problem;
      }
    }
    return {};
  }

  RemoteProblem perform() {
    text_[0] = '\0';
    const auto code = curl_.perform(handle_);
    long status = 0;
    curl_.get(handle_, Curl::told_status, &status);
    return problem_of(curl_, code, status, text_.data());
  }

  /// Content-Range: bytes 0-0/12345
  static std::size_t note_range(char* data, std::size_t size, std::size_t n, void* told) {
    std::string line{data, size * n};
    std::ranges::transform(line, line.begin(), lower_case);
    if (line.starts_with("content-range:")) {
      *static_cast<std::string*>(told) = line;
    }
    return size * n;
  }

  const Curl& curl_;
  Curl::Handle handle_;
  void* headers_ = nullptr;
  std::array<char, 256> text_{};
};

class HttpsConnection final : public RemoteConnection {
 public:
  HttpsConnection(const Curl& curl, std::string url) : curl_{curl}, url_{std::move(url)} {}
  ~HttpsConnection() override {
    {
      const std::lock_guard lock{mutex_};
      is_closed_ = true;
    }
    is_work_.notify_all();
    for (auto& thread : threads_) {
      thread.join();
    }
  }

  RemoteProblem open() { return Client{curl_, url_}.open(n_bytes_, modified_ns_); }
  [[nodiscard]] std::int64_t n_bytes() const override { return n_bytes_; }
  [[nodiscard]] std::int64_t modified_ns() const override { return modified_ns_; }

  std::int64_t read(std::span<const RemotePiece> pieces,
                    std::function<void(const RemoteProblem&)> done,
                    Checks /*tls has its own*/) override {
    auto requests = range_requests(pieces, takes_many_);
    const auto n_requests = std::ssize(requests);
    auto pending = std::make_shared<PendingAnswers>(std::move(done), requests.size());
    const std::lock_guard lock{mutex_};
    for (auto& request : requests) {
      queue_.emplace_back(std::move(request), pending);
    }
    while (std::ssize(threads_) < std::min<std::ptrdiff_t>(n_at_once, std::ssize(queue_))) {
      threads_.emplace_back([this] { work(); });
    }
    is_work_.notify_all();
    return n_requests;
  }

 private:
  void work() {
    Client client{curl_, url_};
    std::unique_lock lock{mutex_};
    while (true) {
      is_work_.wait(lock, [this] { return is_closed_ || !queue_.empty(); });
      if (queue_.empty()) {
        return;
      }
      const auto [request, pending] = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      const auto problem = client.fetch(request, takes_many_);
      if (problem) {
        give_up_queue(problem);
      }
      pending->answered(problem);
      lock.lock();
    }
  }

  /// A reader makes another connection: each of these would wait for as long.
  void give_up_queue(const RemoteProblem& problem) {
    std::unique_lock lock{mutex_};
    const auto left = std::exchange(queue_, {});
    lock.unlock();
    for (const auto& [request, pending] : left) {
      pending->answered(problem);
    }
  }

  const Curl& curl_;
  std::string url_;
  std::int64_t n_bytes_{};
  std::int64_t modified_ns_{};
  std::atomic<bool> takes_many_ = true;  ///< as far as is known
  std::mutex mutex_;
  std::condition_variable is_work_;
  std::deque<std::pair<RangeRequest, std::shared_ptr<PendingAnswers>>> queue_;
  std::vector<std::thread> threads_;
  bool is_closed_ = false;
};

}  // namespace

bool is_of_https(const std::string& url) {
  return url.starts_with("https://") || url.starts_with("http://") || url.starts_with("davs://");
}

RemoteOpened open_https(const std::string& url) {
  const auto* curl = Curl::load();
  if (curl == nullptr) {
    return {nullptr,
            {"libcurl.so.4, which reads files of web servers, is not on this machine", true}};
  }
  const auto plain = url.starts_with("davs://") ? "https" + url.substr(4) : url;
  auto connection = std::make_unique<HttpsConnection>(*curl, plain);
  if (auto problem = connection->open()) {
    return {nullptr, std::move(problem)};
  }
  return {std::move(connection), {}};
}

}  // namespace forkrun
