#include <forkrun/bytes/remote/remote_requests.hpp>

#include <algorithm>
#include <cstring>
#include <future>

#include <forkrun/bytes/remote/stretches.hpp>

namespace forkrun {

std::array<ByteRange, 2> ends_of(std::int64_t n_bytes) {
  constexpr std::int64_t n_bytes_of_begin = 16 << 10;
  constexpr std::int64_t n_bytes_of_end = 512 << 10;
  const auto end = std::max<std::int64_t>(n_bytes - n_bytes_of_end, 0);
  return {ByteRange{0, std::min(n_bytes_of_begin, n_bytes)}, ByteRange{end, n_bytes - end}};
}

RemoteProblem read_now(RemoteConnection& connection, std::int64_t place,
                       std::span<std::byte> into) {
  std::promise<RemoteProblem> answer;
  const std::array pieces{RemotePiece{place, into}};
  connection.read(
      pieces, [&answer](const RemoteProblem& problem) { answer.set_value(problem); },
      RemoteConnection::Checks::always);
  return answer.get_future().get();
}

/// The link does not wait for readers: the next expected window is requested when an answer comes.
bool RemoteRequests::request(const std::shared_ptr<ReadWindow>& window, Lock& lock) {
  auto pieces = window->begin();
  const auto connection = connections.empty() ? nullptr : connections.back();
  const auto kept = cached;
  const bool has_checks = connection && connection->has_checks();
  const auto checks =
      window->is_verified() ? RemoteConnection::Checks::always : RemoteConnection::Checks::if_free;
  ++n_in_flight;
  lock.unlock();
  if (kept) {
    pieces = kept->take(pieces, has_checks && window->is_verified());
  }
  const auto n_bytes = static_cast<std::int64_t>(n_bytes_of(pieces));
  if (pieces.empty() || !connection) {
    lock.lock();
    window->state = pieces.empty() ? ReadWindow::State::here : ReadWindow::State::waiting;
    account.cached_bytes += pieces.empty() ? window->n_bytes() : 0;
    --n_in_flight;
    answered.notify_all();
    return pieces.empty();
  }
  const bool are_checked = window->is_verified() || !has_checks;
  const auto take = [self = shared_from_this(), window, kept, pieces,
                     are_checked](const RemoteProblem& problem) {
    if (kept && !problem) {  // before the reader continues: it may end the process
      kept->keep(pieces, are_checked);
    }
    Lock answer{self->mutex};
    window->problem = problem;
    window->state = problem ? ReadWindow::State::waiting : ReadWindow::State::here;
    self->answered.notify_all();
    if (!problem) {
      self->request_ahead(answer);
    }
    --self->n_in_flight;
    self->answered.notify_all();
  };
  const auto n_requests = connection->read(pieces, take, checks);
  lock.lock();
  account.calls += n_requests;
  account.bytes += n_bytes;
  account.cached_bytes += window->n_bytes() - n_bytes;
  return true;
}

std::optional<FileEnds> RemoteRequests::known_ends(std::int64_t n_bytes) {
  FileEnds ends;
  const Lock lock{mutex};
  const auto ranges = ends_of(n_bytes);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const auto n = static_cast<std::size_t>(ranges[i].n_bytes);
    const auto [window, offset] = windows.find(ranges[i].place, n);
    if (!window || window->state != ReadWindow::State::here) {
      return std::nullopt;
    }
    const auto begin = window->bytes.begin() + static_cast<std::ptrdiff_t>(offset);
    ends[i].assign(begin, begin + static_cast<std::ptrdiff_t>(n));
  }
  return ends;
}

void RemoteRequests::request_ahead(Lock& lock) {
  while ((!connections.empty() || cached) && !is_closing) {
    const auto window = windows.next();
    if (!window || !request(window, lock)) {
      return;
    }
  }
}

}  // namespace forkrun
