#include <forkrun/formats/root_file/reproducible_file.hpp>

#include <gtest/gtest.h>

#include <signal.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <span>
#include <thread>

#include <TNamed.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/testing/folder_test.hpp>

namespace forkrun::root_io {

namespace {

constexpr int zstd_1 = 501;

using ReproducibleFileTest = FolderTest;

void write(const std::string& path, OutputMode mode, int n) {
  ReproducibleFile file{path, mode, zstd_1};
  const TNamed object{"note", "of nothing"};
  for (int i = 0; i < n; ++i) {
    file.WriteTObject(&object);
  }
  file.Write();
}

std::string bytes_of(std::istream& file) { return {std::istreambuf_iterator<char>{file}, {}}; }

struct sigaction handling_of(int number) {
  struct sigaction handling{};
  ::sigaction(number, nullptr, &handling);
  return handling;
}

TEST_F(ReproducibleFileTest, HasAUuidThatDoesNotDependOnHowRecordsWerePutTogether) {
  constexpr std::int64_t place = 1000;
  const std::array<std::byte, 40> bytes{std::byte{1}};
  const std::array<std::size_t, 2> sizes{24, 16};
  ReproducibleFile together{path("together.root"), OutputMode::create, zstd_1};
  together.Seek(place);
  EXPECT_TRUE(together.append(bytes, sizes));
  ReproducibleFile apart{path("apart.root"), OutputMode::create, zstd_1};
  apart.Seek(place);
  EXPECT_TRUE(apart.append(std::span{bytes}.first<24>()));
  apart.Seek(place + 24);
  EXPECT_TRUE(apart.append(std::span{bytes}.subspan<24>()));
  EXPECT_EQ(together.uuid(), apart.uuid());
}

TEST_F(ReproducibleFileTest, LosesNoInterruptWhileItWrites) {
  const auto before = handling_of(SIGINT);
  struct sigaction handling{};
  handling.sa_handler = [](int) {};
  ::sigaction(SIGINT, &handling, nullptr);
  std::atomic<bool> is_written{false};
  std::atomic<bool> has_begun{false};
  std::uint64_t n_ignored = 0;
  std::thread watch{[&] {
    do {
      n_ignored += handling_of(SIGINT).sa_handler == SIG_IGN ? 1 : 0;
      has_begun = true;
    } while (!is_written);
  }};
  while (!has_begun) {
  }
  for (int i = 0; i < 100; ++i) {
    write(path("a.root"), OutputMode::create, 100);
    write(path("a.root"), OutputMode::update, 100);
  }
  is_written = true;
  watch.join();
  ::sigaction(SIGINT, &before, nullptr);
  EXPECT_EQ(n_ignored, 0U);
}

TEST_F(ReproducibleFileTest, ReplacesAFileThatSomebodyStillReads) {
  std::ofstream{path("a.root")} << "old";
  std::ifstream old{path("a.root")};
  write(path("a.root"), OutputMode::create, 1);
  EXPECT_EQ(bytes_of(old), "old");
  std::ifstream file{path("a.root")};
  EXPECT_TRUE(bytes_of(file).starts_with("root"));
}

TEST_F(ReproducibleFileTest, HasTheSameBytesWhateverItIsCalled) {
  write(path("a.root"), OutputMode::create, 3);
  write(path("another name, with # and ?.root"), OutputMode::create, 3);
  std::ifstream a{path("a.root")};
  std::ifstream b{path("another name, with # and ?.root")};
  const auto bytes = bytes_of(a);
  EXPECT_GT(bytes.size(), 100U);
  EXPECT_TRUE(bytes == bytes_of(b));
}

TEST_F(ReproducibleFileTest, WhatCannotBeOpenedIsAnErrorThatSaysWhy) {
  try {
    const ReproducibleFile file{path("nowhere/a.root"), OutputMode::create, zstd_1};
    FAIL() << "no error";
  } catch (const OutputError& error) {
    EXPECT_EQ(error.what(),
              path("nowhere/a.root") + ": cannot be opened: No such file or directory");
  }
  EXPECT_THROW((ReproducibleFile{path("a.root"), OutputMode::update, zstd_1}), OutputError);
}

}  // namespace
}  // namespace forkrun::root_io
