#include <forkrun/concurrency/team.hpp>

namespace forkrun {

std::unique_ptr<Executor> make_serial_executor() { return std::make_unique<Team>(1, nullptr); }

}  // namespace forkrun
