#include <forkrun/bytes/remote/remote_file.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include <forkrun/bytes/remote/remote_ends.hpp>
#include <forkrun/bytes/remote/remote_limits.hpp>
#include <forkrun/bytes/remote/remote_protocols.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/data/input_cost.hpp>

namespace forkrun {

namespace {

/// Size of an object's header elsewhere in the file.
constexpr std::int64_t most_bytes_kept = 16 << 20;
/// Bytes in which replicas must be equal: the header, the UUID and dates of a ROOT file.
constexpr std::int64_t n_bytes_compared = 512;

}  // namespace

RemoteFile::RemoteFile(std::string name, std::vector<Replica> replicas)
    : name_{std::move(name)},
      replicas_{std::move(replicas)},
      rates_{replicas_.size()},
      versions_(replicas_.size()),
      shared_{std::make_shared<RemoteRequests>()} {
  if (!knows_ends()) {
    const SharedEnds::Turn turn{name_};
    if (!knows_ends()) {  // nor does a process that had its turn before
      learn_ends();
      return;
    }
  }
  open_cached();
}

/// From the server, which knows the version of the file; else from the cache.
void RemoteFile::learn_ends() {
  Patience patience;
  connect_patiently(patience);
  open_cached();
  const auto window = shared_->windows.expect_to_stay(ends_of(version_.n_bytes));
  insist(patience, 0, [&](std::uint64_t& connection) { return read_ends(window, connection); });
}

/// Waits for answers, which are bounded in time.
RemoteFile::~RemoteFile() {
  if (ahead_.joinable()) {
    ahead_.join();
  }
  Lock lock{shared_->mutex};
  shared_->is_closing = true;
  shared_->answered.wait(lock, [this] { return shared_->n_in_flight == 0; });
  const auto connections = std::move(shared_->connections);  // ends here, not in their own threads
  lock.unlock();
}

/// From other processes of the job, or from this one's previous reading of the file.
bool RemoteFile::knows_ends() {
  for (auto& ends : SharedEnds::of(name_)) {
    version_ = ends.version;
    is_cached_ = is_cached_ || ends.is_cached;
    if (replicas_.size() == 1) {
      versions_.front().add(version_);
    }
    know_begin(ends.bytes);
    const Lock lock{shared_->mutex};
    shared_->windows.put(std::move(ends.ranges), std::move(ends.bytes));
  }
  return version_.n_bytes >= 0;
}

void RemoteFile::open_cached() {
  auto cached = CachedFile::open(name_, version_);
  const Lock lock{shared_->mutex};
  shared_->cached = std::move(cached);
  if (auto* const cache = is_cached_ ? RemoteCache::of_job() : nullptr) {
    cache->note_unanswered(name_);
  }
}

/// For a server that cannot be asked for its version: the version used last.
bool RemoteFile::use_cached_version(const std::string& why) {
  auto* const cache = RemoteCache::of_job();
  version_ = cache == nullptr ? RemoteVersion{} : cache->known_version(name_);
  is_cached_ = version_.n_bytes >= 0;
  if (is_cached_ && replicas_.size() == 1) {
    versions_.front().add(version_);
  }
  if (is_cached_ && cache->note_unanswered(name_)) {
    say(name_ + ": the server does not answer (" + told({why}) + "); its files are read from " +
        "this machine's cache, as they were");
  }
  return is_cached_;
}

/// For this process and others.
RemoteProblem RemoteFile::read_ends(const std::shared_ptr<ReadWindow>& window,
                                    std::uint64_t& connection) {
  Lock lock{shared_->mutex};
  connection = shared_->connections.size();
  if (!shared_->request(window, lock)) {
    return {"begin and end of the file are not cached"};
  }
  shared_->answered.wait(lock, [&] { return window->state != ReadWindow::State::in_flight; });
  if (window->state != ReadWindow::State::here) {
    return window->problem;
  }
  SharedEnds::add(name_, {version_, window->ranges, window->bytes, is_cached_});
  if (is_cached_) {
    know_begin(window->bytes);
  }
  return {};
}

/// Bytes that identify replicas.
void RemoteFile::know_begin(std::span<const std::byte> bytes) {
  if (replicas_.size() > 1 && begin_.empty()) {
    const auto begin = bytes.first(std::min<std::size_t>(bytes.size(), n_bytes_compared));
    begin_.assign(begin.begin(), begin.end());
  }
}

/// Opens a connection unless there is one. \throws InputError
void RemoteFile::connect_once(Patience& patience) {
  const std::lock_guard connecting{connecting_};
  if (!is_connected()) {
    connect_patiently(patience);
  }
}

bool RemoteFile::is_connected() const {
  const Lock lock{shared_->mutex};
  return !shared_->connections.empty();
}

/// In a thread: nobody waits until there are bytes to read. A reader may be faster.
void RemoteFile::connect_ahead() {
  const std::lock_guard connecting{connecting_};
  try {
    if (!is_connected()) {
      Patience patience;
      connect_patiently(patience);
    }
  } catch (const InputError&) {  // passed over: a reader gets the error
    return;
  }
  Lock lock{shared_->mutex};
  shared_->request_ahead(lock);
}

/// Connects to the replica in use, or to another one. \throws InputError
void RemoteFile::connect_patiently(Patience& patience) {
  while (true) {
    require_hope();
    const auto* const cache = version_.n_bytes < 0 ? RemoteCache::of_job() : nullptr;
    if (cache != nullptr && cache->is_unanswered(name_) && use_cached_version("")) {
      return;
    }
    std::string texts;
    bool is_lasting = true;
    bool is_answered = false;
    for (std::size_t n = 0; n < replicas_.size() && (n == 0 || !patience.is_over());
         ++n, replica_ = (replica_ + 1) % replicas_.size()) {
      const auto problem = connect_to(replica_);
      if (!problem) {
        return;
      }
      texts += (texts.empty() ? "" : "; another replica: ") + problem.text;
      is_lasting = is_lasting && problem.is_lasting;
      is_answered = is_answered || problem.is_answer;
    }
    if (version_.n_bytes < 0 && !is_answered && use_cached_version(texts)) {
      return;
    }
    if (is_lasting || !wait_after({texts}, patience)) {
      give_up(name_ + ": cannot be read: " + told({texts}));
    }
  }
}

/// Other readers do not wait for as long again. \throws UnreadBytes
void RemoteFile::require_hope() const {
  const Lock lock{shared_->mutex};
  if (!shared_->given_up.empty()) {
    throw UnreadBytes(shared_->given_up);
  }
}

void RemoteFile::give_up(const std::string& why) {
  const Lock lock{shared_->mutex};
  shared_->given_up = why;
  throw UnreadBytes(why);
}

RemoteProblem RemoteFile::connect_to(std::size_t number) {
  auto opened = replicas_[number].connect();
  auto problem = opened.connection ? difference(*opened.connection, number) : opened.problem;
  if (!problem) {
    const Lock lock{shared_->mutex};
    shared_->connections.push_back(std::move(opened.connection));
  }
  return problem;
}

/// Compares with earlier reads. The first replica opened is the reference.
RemoteProblem RemoteFile::difference(RemoteConnection& connection, std::size_t number) {
  const auto version = connection.version();
  if (version_.n_bytes < 0) {
    version_ = version;
  }
  if (version.n_bytes != version_.n_bytes) {
    return changed_on_server(version_.change_to(version));
  }
  if (auto problem = know_version(version, number)) {
    return problem;
  }
  connection.accept(versions_[number].all());
  if (replicas_.size() > 1) {
    std::vector<std::byte> begin(
        static_cast<std::size_t>(std::min(version_.n_bytes, n_bytes_compared)));
    if (const auto problem = read_now(connection, 0, begin)) {
      return problem;
    }
    if (begin_.empty()) {
      begin_ = std::move(begin);
    } else if (begin != begin_) {
      return {"another file, with another UUID or date", true};
    }
  }
  return {};
}

/// After an answer of another version: an error, or accepts it from then on as well.
RemoteProblem RemoteFile::take_version(RemoteVersion other) {
  const std::lock_guard connecting{connecting_};
  if (other.n_bytes < 0) {
    other.n_bytes = version_.n_bytes;  // parts tell it, which did not come
  }
  auto problem = know_version(other, replica_);
  if (!problem) {
    const Lock lock{shared_->mutex};
    shared_->connections.back()->accept(versions_[replica_].all());
  }
  return problem;
}

/// Unless already known: whether it is the same file.
RemoteProblem RemoteFile::know_version(const RemoteVersion& version, std::size_t number) {
  auto& known = versions_[number];
  if (known.is_empty()) {
    known.add(version);
  }
  if (known.has(version)) {
    return {};
  }
  const auto ends = shared_->known_ends(version_.n_bytes);
  auto problem = known.take_up(version, replicas_[number].connect, ends);
  if (!ends) {
    version_ = known.first();
    auto cached = CachedFile::open(name_, version_);
    const Lock lock{shared_->mutex};
    shared_->cached = std::move(cached);
  }
  return problem;
}

/// Text of XrdCl or a server, which may contain the URL.
std::string RemoteFile::told(const RemoteProblem& problem) const {
  auto text = problem.text;
  for (const auto& replica : replicas_) {
    text = without_secrets(std::move(text), replica.url);
  }
  return text;
}

/// Prints the pause, since a waiting command seems to hang. Returns whether to try again.
bool RemoteFile::wait_after(const RemoteProblem& problem, Patience& patience) const {
  const auto pause = patience.next_pause();
  if (pause) {
    const auto pause_s = std::chrono::ceil<std::chrono::seconds>(*pause).count();
    say(name_ + ": " + told(problem) + "; asking again in " + std::to_string(pause_s) + " s");
    std::this_thread::sleep_for(*pause);
  }
  return pause.has_value();
}

/// Replaces a failed connection, unless another thread has done so: by the next replica's. \throws
/// InputError
void RemoteFile::connect_again(std::uint64_t failed, Patience& patience) {
  const std::lock_guard connecting{connecting_};
  {
    const Lock lock{shared_->mutex};
    if (shared_->connections.size() != failed) {
      return;
    }
  }
  replica_ = (replica_ + 1) % replicas_.size();
  connect_patiently(patience);
}

/// Changes to a replica that may be faster; requests in flight still end at the old one.
void RemoteFile::leave_slow_replica() {
  const std::unique_lock connecting{connecting_, std::try_to_lock};
  if (!connecting) {
    return;
  }
  std::size_t wanted = 0;
  {
    const Lock lock{shared_->mutex};
    wanted = rates_.best(replica_);
  }
  if (wanted == replica_) {
    return;
  }
  if (connect_to(wanted)) {
    const Lock lock{shared_->mutex};
    rates_.note_failure(wanted);
  } else {
    replica_ = wanted;
  }
}

/// With another connection each time. `attempt`: gets the connection used. \throws InputError
void RemoteFile::insist(Patience& patience, std::int64_t place, const Attempt& attempt) {
  for (bool is_first = true;; is_first = false) {
    std::uint64_t connection = 0;
    auto problem = attempt(connection);
    if (problem.other) {
      problem = take_version(*problem.other);
      if (!problem) {
        continue;
      }
      problem.is_lasting = problem.is_lasting && replicas_.size() == 1;
    }
    if (!problem) {
      return;
    }
    // The connection may have been lost long ago: the first time there is no pause.
    if (problem.is_lasting || !(is_first ? !patience.is_over() : wait_after(problem, patience))) {
      give_up(cannot_read(name_, place, told(problem)));
    }
    connect_again(connection, patience);
  }
}

std::int64_t RemoteFile::read(std::int64_t place, std::span<std::byte> into, ReadAccount& account) {
  const ReadingNote note{into.size()};
  const auto n = std::clamp<std::int64_t>(version_.n_bytes - place, 0, std::ssize(into));
  if (n > 0) {
    Patience patience;
    insist(patience, place, [&](std::uint64_t& connection) {
      return try_read(place, into.first(static_cast<std::size_t>(n)), connection, patience);
    });
  }
  {
    const Lock lock{shared_->mutex};
    shared_->tell(account);
  }
  if (replicas_.size() > 1) {
    leave_slow_replica();
  }
  return n;
}

void RemoteFile::expect(std::span<const ByteRange> ranges, ReadAccount& account) {
  Lock lock{shared_->mutex};
  keeps_reads_ = false;
  shared_->windows.expect(ranges);
  request_ahead(lock);
  shared_->tell(account);
}

/// Requests windows that should be in flight by now. If a connection is needed, another thread
/// makes it.
void RemoteFile::request_ahead(Lock& lock) {
  shared_->request_ahead(lock);
  if (shared_->connections.empty() && shared_->windows.next() && !ahead_.joinable()) {
    ahead_ = std::thread{[this] { connect_ahead(); }};
  }
}

/// For servers that tell no versions, or only to the second. \throws InputError
void RemoteFile::require_same_ends() {
  std::shared_ptr<RemoteConnection> connection;
  {
    const Lock lock{shared_->mutex};
    connection = shared_->connections.empty() ? nullptr : shared_->connections.back();
  }
  const auto before = shared_->known_ends(version_.n_bytes);
  if (!connection || !before || !connection->version().tag.empty()) {
    return;
  }
  RemoteProblem problem;
  const auto now = read_file_ends(*connection, problem);
  if (!problem && now != *before && now == read_file_ends(*connection, problem)) {
    give_up(cannot_read(name_, 0, changed_on_server("it begins or ends otherwise").text));
  }
}

bool RemoteFile::forget_damaged(const ByteRange& range) {
  drop_cached();
  if (replicas_.size() == 1) {
    require_same_ends();
  }
  std::uint64_t connection = 0;
  {
    const Lock lock{shared_->mutex};
    connection = shared_->connections.size();
    shared_->windows.fetch_again(range);
  }
  say(name_ + ": what came of bytes " + std::to_string(range.place) + " to " +
      std::to_string(range.end()) + " is damaged; reading them again");
  if (replicas_.size() > 1) {
    Patience patience;
    connect_again(connection, patience);
  }
  return true;
}

/// From then on no checksum of the file is relied on: others will be missing, too.
bool RemoteFile::forget_unverified(const ByteRange& range) {
  const Lock lock{shared_->mutex};
  if (shared_->connections.empty() || !shared_->connections.back()->has_checks()) {
    return false;
  }
  shared_->windows.verify_all();
  const auto window =
      shared_->windows.find(range.place, static_cast<std::size_t>(range.n_bytes)).window;
  if (window && window->state == ReadWindow::State::here && window->is_verified()) {
    return false;
  }
  shared_->windows.fetch_again(range);
  return true;
}

/// The next job caches later reads again.
void RemoteFile::drop_cached() {
  const Lock lock{shared_->mutex};
  if (shared_->cached) {
    shared_->cached->drop();
    shared_->cached = nullptr;
  }
}

/// Without a connection: all of it, or nothing.
bool RemoteFile::take_cached(std::int64_t place, std::span<std::byte> into) {
  Lock lock{shared_->mutex};
  const auto kept = shared_->cached;
  if (!shared_->connections.empty() || !kept) {
    return false;
  }
  if (const auto window = shared_->windows.find(place, into.size()).window) {
    if (window->state == ReadWindow::State::waiting) {
      shared_->request(window, lock);
    }
    return false;
  }
  lock.unlock();
  if (!kept->take(std::array{RemotePiece{place, into}}, false).empty()) {
    return false;
  }
  lock.lock();
  shared_->account.cached_bytes += std::ssize(into);
  return true;
}

bool RemoteFile::is_here(std::int64_t place, std::size_t n_bytes) const {
  const Lock lock{shared_->mutex};
  const auto window = shared_->windows.find(place, n_bytes).window;
  return window && window->state == ReadWindow::State::here;
}

RemoteProblem RemoteFile::try_read(std::int64_t place, std::span<std::byte> into,
                                   std::uint64_t& connection, Patience& patience) {
  if (take_cached(place, into)) {
    return {};
  }
  if (!is_here(place, into.size())) {
    require_hope();
    if (!is_connected()) {
      connect_once(patience);
    }
  }
  Lock lock{shared_->mutex};
  connection = shared_->connections.size();
  const auto [window, offset] = shared_->windows.find(place, into.size());
  if (!window) {
    return read_directly(place, into, lock);
  }
  shared_->windows.note_read(*window);
  const bool is_asked_for = window->state == ReadWindow::State::waiting;
  if (is_asked_for) {
    shared_->request(window, lock);
  }
  request_ahead(lock);
  const auto begin = std::chrono::steady_clock::now();
  shared_->answered.wait(lock, [&] { return window->state != ReadWindow::State::in_flight; });
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
  rates_.add(std::ssize(into), waited.count());
  if (window->state == ReadWindow::State::waiting) {
    return window->problem ? window->problem : RemoteProblem{"the connection was lost"};
  }
  lock.unlock();                        // bytes that are here stay as they are
  if (is_asked_for && window->stays) {  // the end was damaged on its way
    SharedEnds::add(name_, {version_, window->ranges, window->bytes, is_cached_});
  }
  std::memcpy(into.data(), &window->bytes[offset], into.size());
  return {};
}

/// Unexpected reads: begin and end of the file, if nothing else was read yet. They are for other
/// processes as well.
RemoteProblem RemoteFile::read_directly(std::int64_t place, std::span<std::byte> into, Lock& lock) {
  ReadWindow window;
  window.ranges = {{place, std::ssize(into)}};
  auto own = std::make_shared<ReadWindow>(std::move(window));
  shared_->request(own, lock);
  shared_->answered.wait(lock, [&] { return own->state != ReadWindow::State::in_flight; });
  if (own->state == ReadWindow::State::here) {
    std::memcpy(into.data(), own->bytes.data(), into.size());
    if (keeps_reads_ && std::ssize(into) <= most_bytes_kept) {
      SharedEnds::add(name_, {version_, own->ranges, own->bytes, is_cached_});
      shared_->windows.put(own->ranges, own->bytes);
    }
  }
  return own->problem;
}

}  // namespace forkrun
