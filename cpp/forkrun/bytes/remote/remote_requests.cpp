#include <forkrun/bytes/remote/remote_requests.hpp>

namespace forkrun {

/// The link does not wait for readers: what is expected next is requested when the answer comes.
void RemoteRequests::request(const std::shared_ptr<ReadWindow>& window, Lock& lock) {
  const auto pieces = window->begin();
  const auto connection = connections.back();
  const auto checks =
      window->was_damaged ? RemoteConnection::Checks::always : RemoteConnection::Checks::if_free;
  account.bytes += window->n_bytes();
  ++n_in_flight;
  lock.unlock();
  const auto take = [self = shared_from_this(), window](const RemoteProblem& problem) {
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
}

void RemoteRequests::request_ahead(Lock& lock) {
  while (!connections.empty() && !is_closing) {
    const auto window = windows.next();
    if (!window) {
      return;
    }
    request(window, lock);
  }
}

}  // namespace forkrun
