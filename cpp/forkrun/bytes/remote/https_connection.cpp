#include <forkrun/bytes/remote/https_connection.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <forkrun/bytes/remote/curl.hpp>
#include <forkrun/bytes/remote/https_client.hpp>
#include <forkrun/bytes/remote/range_requests.hpp>

namespace forkrun {

namespace {

/// Number of simultaneous requests.
constexpr int n_at_once = 8;

class HttpsConnection final : public RemoteConnection {
 public:
  HttpsConnection(const Curl& curl, std::string url)
      : curl_{curl}, url_{std::move(url)}, takes_many_{takes_many_of(url_)} {}
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

  RemoteProblem open() {
    auto problem = HttpsClient{curl_, url_, known_}.open(version_);
    known_.set(std::array{version_});
    return problem;
  }
  [[nodiscard]] RemoteVersion version() const override { return version_; }
  void accept(std::span<const RemoteVersion> known) override { known_.set(known); }

  std::int64_t read(std::span<const RemotePiece> pieces,
                    std::function<void(const RemoteProblem&)> done,
                    Checks /*tls has its own*/) override {
    auto requests = range_requests(pieces, *takes_many_);
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
    HttpsClient client{curl_, url_, known_};
    std::unique_lock lock{mutex_};
    while (true) {
      is_work_.wait(lock, [this] { return is_closed_ || !queue_.empty(); });
      if (queue_.empty()) {
        return;
      }
      const auto [request, pending] = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      const auto problem = client.fetch(request, *takes_many_);
      if (problem) {
        give_up_queue(problem);
      }
      pending->answered(problem);
      lock.lock();
    }
  }

  /// A reader makes another connection: each request would wait for as long.
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
  RemoteVersion version_{};
  KnownVersions known_;
  std::shared_ptr<std::atomic<bool>> takes_many_;
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
