// main() of the C++ tests. A test that hangs ends them, with the stacks of all threads.

#include <dirent.h>
#include <execinfo.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string_view>

namespace {

constexpr unsigned patience_s = 240;  // the longest one takes a minute under a sanitizer
const int stack_signal = SIGRTMIN + 5;

void write_text(std::string_view text) { (void)!::write(STDERR_FILENO, text.data(), text.size()); }

void write_stack(int /*number*/) {
  std::array<void*, 64> frames{};
  const auto n_frames = ::backtrace(frames.data(), frames.size());
  ::backtrace_symbols_fd(frames.data(), n_frames, STDERR_FILENO);
  write_text("\n");
}

void end_with_stacks(int /*number*/) {
  write_text("This test hangs. Its threads:\n\n");
  if (DIR* threads = ::opendir("/proc/self/task")) {
    while (const auto* thread = ::readdir(threads)) {
      if (const auto id = std::atoi(thread->d_name); id > 0) {
        ::syscall(SYS_tgkill, ::getpid(), id, stack_signal);
        ::usleep(100'000);  // one after another
      }
    }
  }
  ::_exit(1);
}

class Patience : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo& /*test*/) override { ::alarm(patience_s); }
  void OnTestEnd(const testing::TestInfo& /*test*/) override { ::alarm(0); }
};

}  // namespace

int main(int n_arguments, char** arguments) {
  testing::InitGoogleTest(&n_arguments, arguments);
  testing::UnitTest::GetInstance()->listeners().Append(new Patience);
  std::array<void*, 1> frame{};
  ::backtrace(frame.data(), frame.size());  // loads libgcc, which a handler may not
  ::signal(stack_signal, write_stack);
  ::signal(SIGALRM, end_with_stacks);
  return RUN_ALL_TESTS();
}
