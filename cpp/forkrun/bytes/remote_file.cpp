#include <forkrun/bytes/remote_file.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <future>
#include <iostream>
#include <map>
#include <sstream>
#include <thread>
#include <utility>

#include <forkrun/bytes/https_connection.hpp>
#include <forkrun/bytes/remote_places.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/data/input_cost.hpp>

namespace forkrun {

namespace {

/// Before a request that failed is made again; FORKRUN_REMOTE_PAUSES has others: "5,30,120".
const std::vector<std::chrono::seconds>& pauses() {
  static const auto given = [] {
    const char* text = std::getenv("FORKRUN_REMOTE_PAUSES");
    std::istringstream seconds{text == nullptr ? "5,30,120" : text};
    std::vector<std::chrono::seconds> all;
    for (std::string one; std::getline(seconds, one, ',');) {
      all.emplace_back(std::max(std::atoi(one.c_str()), 0));
    }
    return all;
  }();
  return given;
}

/// Where a ROOT file says what it holds: at its beginning and, but for what was written last, at
/// its end.
constexpr std::int64_t n_bytes_of_begin = 16 << 10;
constexpr std::int64_t n_bytes_of_end = 512 << 10;
/// In which replicas have to be the same: the header, the UUID and dates of a ROOT file.
constexpr std::int64_t n_bytes_compared = 512;

bool is_of_xrootd(const std::string& url) {
  return std::ranges::any_of(std::array{"root://", "roots://", "xroot://", "xroots://"},
                             [&url](const char* begin) { return url.starts_with(begin); });
}

/// What the library of XRootD offers under a name; nullptr if it was not built here: there was no
/// XrdCl.
template <class Function>
Function of_xrootd(const char* name) {
  constexpr int own_symbols = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
  static void* library = ::dlopen("libforkrun_xrootd.so", own_symbols);
  return library == nullptr ? nullptr : reinterpret_cast<Function>(::dlsym(library, name));
}

OpenRemote xrootd() {
  static const auto open = of_xrootd<OpenRemote>("forkrun_open_remote");
  return open;
}

/// Of a protocol that can be read here.
std::vector<RemoteFile::Replica> replicas_of(const std::string& name) {
  std::vector<RemoteFile::Replica> replicas;
  for (const auto& url : places_of(name)) {
    if (is_of_xrootd(url) && xrootd() != nullptr) {
      replicas.push_back({url, [url] { return xrootd()(url); }});
    } else if (is_of_https(url)) {
      replicas.push_back({url, [url] { return open_https(url); }});
    }
  }
  return replicas;
}

/// Answered in this thread or another one.
RemoteProblem read_now(RemoteConnection& connection, std::int64_t place,
                       std::span<std::byte> into) {
  std::promise<RemoteProblem> answer;
  const std::array pieces{RemotePiece{place, into}};
  connection.read(pieces, [&answer](const RemoteProblem& problem) { answer.set_value(problem); });
  return answer.get_future().get();
}

}  // namespace

RemoteListing list_remote(const std::string& url) {
  const auto list = of_xrootd<ListRemote>("forkrun_list_remote");
  const auto places = places_of(url);
  if (!is_of_xrootd(url) || list == nullptr) {
    return {{}, {"files are listed on servers of XRootD alone", true}};
  }
  auto listing = list(places.front());
  listing.problem.text = without_secrets(listing.problem.text, places.front());
  return listing;
}

std::vector<RemoteEntry> stat_remote(std::span<const std::string> names) {
  const auto stat = of_xrootd<StatRemote>("forkrun_stat_remote");
  std::vector<RemoteEntry> entries(names.size());
  std::vector<std::string> urls;
  std::vector<std::size_t> numbers;
  for (std::size_t number = 0; number < names.size() && stat != nullptr; ++number) {
    if (const auto place = places_of(names[number]).front(); is_of_xrootd(place)) {
      urls.push_back(place);
      numbers.push_back(number);
    }
  }
  auto found = urls.empty() ? std::vector<RemoteEntry>{} : stat(urls);
  for (std::size_t i = 0; i < found.size(); ++i) {
    entries[numbers[i]] = std::move(found[i]);
  }
  return entries;
}

struct RemoteFile::Shared {
  std::mutex mutex;
  std::condition_variable answered;
  ReadWindows windows;
  std::ptrdiff_t n_in_flight = 0;
};

std::shared_ptr<RemoteFile> RemoteFile::open(const std::string& name) {
  struct Known {
    std::mutex connecting{};
    std::weak_ptr<RemoteFile> file{};
  };
  static std::mutex mutex;
  static std::map<std::string, Known> known_files;  // whose entries stay where they are
  auto replicas = replicas_of(name);
  if (replicas.empty()) {
    return nullptr;
  }
  std::unique_lock all{mutex};
  auto& known = known_files[name];
  all.unlock();
  const std::lock_guard lock{known.connecting};
  auto file = known.file.lock();
  if (!file) {
    file = std::make_shared<RemoteFile>(name, std::move(replicas));
    known.file = file;
  }
  return file;
}

RemoteFile::RemoteFile(std::string name, std::vector<Replica> replicas)
    : name_{std::move(name)},
      replicas_{std::move(replicas)},
      rates_{replicas_.size()},
      replicas_modified_ns_(replicas_.size()),
      shared_{std::make_shared<Shared>()} {
  connect_patiently();
  const auto end = std::max<std::int64_t>(n_bytes_ - n_bytes_of_end, 0);
  const std::array ends{ByteRange{0, std::min(n_bytes_of_begin, n_bytes_)},
                        ByteRange{end, n_bytes_ - end}};
  shared_->windows.expect(ends);
}

/// Waits for answers, which are bounded in time.
RemoteFile::~RemoteFile() {
  Lock lock{shared_->mutex};
  shared_->answered.wait(lock, [this] { return shared_->n_in_flight == 0; });
}

/// To the replica that is used, or to another one. \throws InputError
void RemoteFile::connect_patiently() {
  for (auto pause = pauses().begin();; ++pause) {
    std::string texts;
    bool is_lasting = true;
    for (std::size_t n = 0; n < replicas_.size();
         ++n, replica_ = (replica_ + 1) % replicas_.size()) {
      const auto problem = connect_to(replica_);
      if (!problem) {
        return;
      }
      texts += (texts.empty() ? "" : "; another replica: ") + problem.text;
      is_lasting = is_lasting && problem.is_lasting;
    }
    if (is_lasting || pause == pauses().end()) {
      throw UnreadBytes(name_ + ": cannot be read: " + told({texts}));
    }
    wait_after({texts}, *pause);
  }
}

RemoteProblem RemoteFile::connect_to(std::size_t number) {
  auto opened = replicas_[number].connect();
  auto problem = opened.connection ? difference(*opened.connection, number) : opened.problem;
  if (!problem) {
    const Lock lock{shared_->mutex};
    connections_.push_back(std::move(opened.connection));
  }
  return problem;
}

/// From what was read before. The first one that is opened says what is right.
RemoteProblem RemoteFile::difference(RemoteConnection& connection, std::size_t number) {
  const bool is_first = connections_.empty();
  if (is_first) {
    n_bytes_ = connection.n_bytes();
    modified_ns_ = connection.modified_ns();
  }
  auto& modified_ns = replicas_modified_ns_[number];
  if (connection.n_bytes() != n_bytes_ ||
      modified_ns.value_or(connection.modified_ns()) != connection.modified_ns()) {
    return {"changed on the server while it was read, or another file", true};
  }
  modified_ns = connection.modified_ns();
  if (replicas_.size() > 1) {
    std::vector<std::byte> begin(static_cast<std::size_t>(std::min(n_bytes_, n_bytes_compared)));
    if (const auto problem = read_now(connection, 0, begin)) {
      return problem;
    }
    if (is_first) {
      begin_ = std::move(begin);
    } else if (begin != begin_) {
      return {"another file, with another UUID or date", true};
    }
  }
  return {};
}

/// Of what XrdCl and servers say, which may name the URL.
std::string RemoteFile::told(const RemoteProblem& problem) const {
  auto text = problem.text;
  for (const auto& replica : replicas_) {
    text = without_secrets(std::move(text), replica.url);
  }
  return text;
}

/// Says so: a command that waits seems to hang.
void RemoteFile::wait_after(const RemoteProblem& problem, std::chrono::seconds pause) const {
  std::clog << "forkrun: " << name_ << ": " << told(problem) << "; asking again in "
            << pause.count() << " s\n"
            << std::flush;
  std::this_thread::sleep_for(pause);
}

/// In place of a connection that failed, unless another thread has done so: to the next replica.
/// \throws InputError
void RemoteFile::connect_again(std::uint64_t failed) {
  const std::lock_guard connecting{connecting_};
  {
    const Lock lock{shared_->mutex};
    if (connections_.size() != failed) {
      return;
    }
  }
  replica_ = (replica_ + 1) % replicas_.size();
  connect_patiently();
}

/// For one that may be faster; what is on its way still comes from where it was asked for.
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

std::int64_t RemoteFile::read(std::int64_t place, std::span<std::byte> into, ReadAccount& account) {
  const ReadingNote note{into.size()};
  const auto n = std::clamp<std::int64_t>(n_bytes_ - place, 0, std::ssize(into));
  for (auto pause = pauses().begin(); n > 0; ++pause) {
    std::uint64_t connection = 0;
    const auto problem =
        try_read(place, into.first(static_cast<std::size_t>(n)), account, connection);
    if (!problem) {
      break;
    }
    if (problem.is_lasting || pause == pauses().end()) {
      throw UnreadBytes(cannot_read(name_, place, told(problem)));
    }
    if (pause != pauses().begin()) {  // the connection may have been lost long ago
      wait_after(problem, *std::prev(pause));
    }
    connect_again(connection);
  }
  if (replicas_.size() > 1) {
    leave_slow_replica();
  }
  return n;
}

void RemoteFile::expect(std::span<const ByteRange> ranges, ReadAccount& account) {
  Lock lock{shared_->mutex};
  shared_->windows.expect(ranges);
  request_ahead(account, lock);
}

bool RemoteFile::forget_damaged(const ByteRange& range) {
  std::uint64_t connection = 0;
  {
    const Lock lock{shared_->mutex};
    connection = connections_.size();
    shared_->windows.fetch_again(range);
  }
  std::clog << "forkrun: " << name_ << ": what came of bytes " << range.place << " to "
            << range.end() << " is damaged; reading them again\n"
            << std::flush;
  if (replicas_.size() > 1) {
    connect_again(connection);
  }
  return true;
}

RemoteProblem RemoteFile::try_read(std::int64_t place, std::span<std::byte> into,
                                   ReadAccount& account, std::uint64_t& connection) {
  Lock lock{shared_->mutex};
  connection = connections_.size();
  const auto [window, offset] = shared_->windows.find(place, into.size());
  if (!window) {
    return read_directly(place, into, account, lock);
  }
  shared_->windows.note_read(*window);
  if (window->state == ReadWindow::State::waiting) {
    request(window, account, lock);
  }
  request_ahead(account, lock);
  const auto begin = std::chrono::steady_clock::now();
  shared_->answered.wait(lock, [&] { return window->state != ReadWindow::State::in_flight; });
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
  rates_.add(std::ssize(into), waited.count());
  if (window->state == ReadWindow::State::waiting) {
    return window->problem ? window->problem : RemoteProblem{"the connection was lost"};
  }
  lock.unlock();  // bytes that are here stay as they are
  std::memcpy(into.data(), &window->bytes[offset], into.size());
  return {};
}

/// What nobody expected.
RemoteProblem RemoteFile::read_directly(std::int64_t place, std::span<std::byte> into,
                                        ReadAccount& account, Lock& lock) {
  ReadWindow window;
  window.ranges = {{place, std::ssize(into)}};
  auto own = std::make_shared<ReadWindow>(std::move(window));
  request(own, account, lock);
  shared_->answered.wait(lock, [&] { return own->state != ReadWindow::State::in_flight; });
  if (own->state == ReadWindow::State::here) {
    std::memcpy(into.data(), own->bytes.data(), into.size());
  }
  return own->problem;
}

/// Gives up the lock while it asks: the answer may come at once.
void RemoteFile::request(const std::shared_ptr<ReadWindow>& window, ReadAccount& account,
                         Lock& lock) {
  const auto pieces = window->begin();
  const auto connection = connections_.back();
  ++account.calls;
  account.bytes += window->n_bytes();
  ++shared_->n_in_flight;
  lock.unlock();
  connection->read(pieces, [shared = shared_, window](const RemoteProblem& problem) {
    const Lock answer{shared->mutex};
    window->problem = problem;
    window->state = problem ? ReadWindow::State::waiting : ReadWindow::State::here;
    --shared->n_in_flight;
    shared->answered.notify_all();
  });
  lock.lock();
}

void RemoteFile::request_ahead(ReadAccount& account, Lock& lock) {
  while (const auto window = shared_->windows.next()) {
    request(window, account, lock);
  }
}

}  // namespace forkrun
