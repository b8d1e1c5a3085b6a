#include <forkrun/concurrency/thread_state.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

namespace forkrun {

bool is_asleep(pid_t thread) {
  const auto file = "/proc/self/task/" + std::to_string(thread) + "/stat";
  const int opened = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (opened < 0) {
    return true;
  }
  std::array<char, 256> bytes{};
  const auto n_bytes = ::read(opened, bytes.data(), bytes.size());
  ::close(opened);
  const std::string_view text{bytes.data(), n_bytes < 0 ? 0 : static_cast<std::size_t>(n_bytes)};
  const auto end_of_name = text.rfind(')');  // A name may hold anything, and is 15 bytes at most.
  return end_of_name + 2 >= text.size() || text[end_of_name + 2] != 'R';
}

}  // namespace forkrun
