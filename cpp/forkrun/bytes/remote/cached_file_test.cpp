#include <forkrun/bytes/remote/cached_file.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <forkrun/bytes/local_file.hpp>

namespace forkrun {

namespace {

constexpr std::int64_t n_file_bytes = 3 << 20;
const RemoteVersion kept_version{n_file_bytes, 1'000'000'000, "\"tag\""};
const std::string name = "https://server/file.root";

std::byte kept_byte(std::int64_t place) { return static_cast<std::byte>(place * 7 % 251); }

std::vector<std::byte> bytes_from(std::int64_t place, std::size_t n) {
  std::vector<std::byte> bytes(n);
  for (std::size_t i = 0; i < n; ++i) {
    bytes[i] = kept_byte(place + static_cast<std::int64_t>(i));
  }
  return bytes;
}

class CachedFileTest : public testing::Test {
 protected:
  void SetUp() override {
    auto pattern = (std::filesystem::temp_directory_path() / "cached-XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
    use("asked", "1000000000");
  }
  void TearDown() override {
    ::unsetenv("FORKRUN_REMOTE_CACHE");
    std::filesystem::remove_all(folder);
  }

  /// Another job begins.
  void use(const std::string& form, const std::string& limit, std::int64_t begin_s = 0) const {
    static int number = 0;  // each has a text of its own
    const auto told = form + ' ' + limit + ' ' + std::to_string(begin_s) + ' ' + folder +
                      std::string(static_cast<std::size_t>(number++ % 1000), '/');
    ::setenv("FORKRUN_REMOTE_CACHE", told.c_str(), 1);
  }

  static std::shared_ptr<CachedFile> open() { return CachedFile::open(name, kept_version); }

  static void keep(CachedFile& file, std::int64_t place, std::size_t n, bool is_checked = true) {
    auto bytes = bytes_from(place, n);
    file.keep(std::array{RemotePiece{place, bytes}}, is_checked);
  }

  /// Number of bytes that are not there. What is there has to be right.
  static std::int64_t n_missing(CachedFile& file, std::int64_t place, std::size_t n,
                                bool needs_checks = false) {
    std::vector<std::byte> bytes(n);
    std::int64_t n_bytes = 0;
    for (const auto& piece : file.take(std::array{RemotePiece{place, bytes}}, needs_checks)) {
      const auto right = bytes_from(piece.place, piece.into.size());
      std::ranges::copy(right, piece.into.begin());
      n_bytes += std::ssize(piece.into);
    }
    EXPECT_EQ(bytes, bytes_from(place, n));
    return n_bytes;
  }

  [[nodiscard]] std::string path() const { return RemoteCache::entries(folder).at(0).path; }

  static void flip(const std::string& file, std::int64_t place) {
    const int descriptor = ::open(file.c_str(), O_RDWR);
    std::array<std::byte, 1> byte{};
    ASSERT_EQ(read_at(descriptor, place, byte), 1);
    byte[0] ^= std::byte{0x10};
    ASSERT_TRUE(write_at(descriptor, place, byte));
    ::close(descriptor);
  }

  std::string folder;
};

constexpr std::int64_t n_head = 16 << 10;
constexpr std::int64_t place_of_records = n_head + n_file_bytes;

TEST_F(CachedFileTest, WhatWasKeptIsThereForTheNextJobAndTheRestIsMissing) {
  keep(*open(), 1000, 200'000);
  const auto file = open();
  EXPECT_EQ(n_missing(*file, 1000, 200'000), 0);
  EXPECT_EQ(n_missing(*file, 70'000, 1), 0);
  EXPECT_EQ(n_missing(*file, 0, 300'000), 1000 + 300'000 - 201'000);
  keep(*file, 300'000, 10);
  EXPECT_EQ(n_missing(*file, 0, 400'000), 1000 + 400'000 - 201'000 - 10);
  EXPECT_EQ(n_missing(*open(), n_file_bytes - 5, 5), 5);
}

TEST_F(CachedFileTest, OtherVersionsAndNamesHaveFilesOfTheirOwn) {
  keep(*open(), 0, 1000);
  auto other = kept_version;
  other.tag = "\"other\"";
  EXPECT_EQ(n_missing(*CachedFile::open(name, other), 0, 1000), 1000);
  EXPECT_EQ(n_missing(*CachedFile::open(name + "2", kept_version), 0, 1000), 1000);
  EXPECT_EQ(n_missing(*open(), 0, 1000), 0);
  EXPECT_EQ(RemoteCache::of_job()->known_version(name + "3"), RemoteVersion{});
  EXPECT_TRUE(RemoteCache::of_job()->known_version(name + "2") == kept_version);
}

TEST_F(CachedFileTest, VersionsThatAreNotToldApartAreNotKept) {
  EXPECT_EQ(CachedFile::open(name, {n_file_bytes, 0, ""}), nullptr);
  const std::chrono::nanoseconds now = std::chrono::system_clock::now().time_since_epoch();
  EXPECT_EQ(CachedFile::open(name, {n_file_bytes, now.count(), "\"tag\""}), nullptr);
  EXPECT_NE(CachedFile::open(name, {n_file_bytes, 0, "\"tag\""}), nullptr);
}

TEST_F(CachedFileTest, BytesWithoutChecksumsOfTheLinkAreMissingWhereTheseAreNeeded) {
  const auto file = open();
  keep(*file, 0, 1000, false);
  EXPECT_EQ(n_missing(*file, 0, 1000), 0);
  EXPECT_EQ(n_missing(*file, 0, 1000, true), 1000);
  keep(*file, 0, 1000, true);
  EXPECT_EQ(n_missing(*file, 0, 1000, true), 0);
}

TEST_F(CachedFileTest, BytesAreFoundWhateverOverlapsThem) {
  const auto file = open();
  keep(*file, 1000, 60'000);
  keep(*file, 2000, 500);
  EXPECT_EQ(n_missing(*file, 1000, 60'000), 0);
  EXPECT_EQ(n_missing(*file, 3000, 10), 0);
  keep(*file, 60'000, 65'536);
  EXPECT_EQ(n_missing(*file, 500, 125'100), 500 + 64);
  keep(*file, 200'000, 100, true);
  keep(*file, 200'000, 900, false);
  EXPECT_EQ(n_missing(*file, 200'000, 900), 0);
  EXPECT_EQ(n_missing(*file, 200'000, 900, true), 800);
}

TEST_F(CachedFileTest, DamagedBytesAreTakenFromAnotherRecordThatHasThem) {
  keep(*open(), 0, 60'000);
  keep(*open(), 50'000, 40'000);
  flip(path(), n_head + 100);
  EXPECT_EQ(n_missing(*open(), 0, 90'000), 50'000);
  EXPECT_EQ(n_missing(*open(), 55'000, 1000), 0);
}

TEST_F(CachedFileTest, DamageOfAnyByteOfTheHeadIsFoundAndMended) {
  keep(*open(), 0, 1000);
  for (std::int64_t place = 0; place < n_head; place += place < 200 ? 1 : 509) {
    flip(path(), place);
    EXPECT_EQ(RemoteCache::of_job()->known_version(name), RemoteVersion{});
    const auto file = open();
    ASSERT_NE(file, nullptr);
    EXPECT_EQ(n_missing(*file, 0, 1000), 1000);
    keep(*file, 0, 1000);
    EXPECT_EQ(n_missing(*open(), 0, 1000), 0);
  }
}

TEST_F(CachedFileTest, DamageOfAnyByteOfARecordIsFound) {
  keep(*open(), 0, 1000);
  for (std::int64_t i = 0; i < 64; ++i) {
    flip(path(), place_of_records + i);
    EXPECT_EQ(n_missing(*open(), 0, 1000), 1000) << i;
    flip(path(), place_of_records + i);
    EXPECT_EQ(n_missing(*open(), 0, 1000), 0) << i;
  }
}

TEST_F(CachedFileTest, DamagedBytesAreMissingOthersAreThereAndTheyAreKeptAgain) {
  keep(*open(), 0, 300'000);
  for (std::int64_t place = 1; place < 65'536; place += 4099) {
    flip(path(), n_head + place);
    const auto file = open();
    EXPECT_EQ(n_missing(*file, 0, 300'000), 65'536);
    keep(*file, 0, 65'536);
    EXPECT_EQ(n_missing(*open(), 0, 300'000), 0);
  }
}

TEST_F(CachedFileTest, ACutFileGivesWhatIsLeft) {
  keep(*open(), 0, 300'000);
  for (const auto n :
       {place_of_records + 64 * 2 + 7, place_of_records - 1, n_head, n_head - 1, std::int64_t{0}}) {
    std::filesystem::resize_file(path(), static_cast<std::uintmax_t>(n));
    const auto n_left = n > place_of_records ? 2 * 65'536 : 0;
    EXPECT_EQ(n_missing(*open(), 0, 300'000), 300'000 - n_left) << n;
    const auto file = open();
    keep(*file, 0, 300'000);
    EXPECT_EQ(n_missing(*open(), 0, 300'000), 0) << n;
  }
}

TEST_F(CachedFileTest, AFullDiskEndsKeepingAndWhatIsThereIsRight) {
  keep(*open(), 0, 65'536);
  const int child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{200'000, 200'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto file = open();
    keep(*file, 100'000, 300'000);
    keep(*file, 400'000, 10);
    ::_exit(n_missing(*file, 0, 500'000) == 500'000 - 65'536 ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(n_missing(*open(), 0, 500'000), 500'000 - 65'536);
}

/// At a random moment each: what is there is right, and the next process keeps more.
TEST_F(CachedFileTest, ProcessesThatAreKilledLeaveNothingWrong) {
  std::mt19937 random{7};
  for (int round = 0; round < 60; ++round) {
    const int child = ::fork();
    if (child == 0) {
      for (std::int64_t place = round * 1000;;
           place = (place + 40'961) % (n_file_bytes - 150'000)) {
        keep(*open(), place, 150'000);
      }
    }
    ::usleep(std::uniform_int_distribution<unsigned>{0, 3000}(random));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    n_missing(*open(), 0, n_file_bytes);
  }
  const auto file = open();
  keep(*file, 0, n_file_bytes);
  EXPECT_EQ(n_missing(*open(), 0, n_file_bytes), 0);
}

TEST_F(CachedFileTest, ProcessesThatKeepTheSameFileAtOnceKeepAllOfIt) {
  constexpr std::int64_t n_part = n_file_bytes / 64;
  std::array<int, 4> children{};
  for (int& child : children) {
    child = ::fork();
    if (child == 0) {
      const auto file = open();
      const auto first = &child - children.data();
      for (std::int64_t i = 0; i < 64; ++i) {
        keep(*file, (i + 16 * first) % 64 * n_part, n_part);
      }
      ::_exit(0);
    }
  }
  for (const int child : children) {
    ::waitpid(child, nullptr, 0);
  }
  EXPECT_EQ(n_missing(*open(), 0, n_file_bytes), 0);
}

TEST_F(CachedFileTest, FilesThatWereUsedLastStayWithinTheLimitAndThoseOfTheJobDo) {
  const auto named = [](int i) { return CachedFile::open(name + std::to_string(i), kept_version); };
  for (int i = 0; i < 4; ++i) {
    keep(*named(i), 0, 500'000);
    const std::array<timespec, 2> times{timespec{0, UTIME_OMIT}, timespec{1000 + i, 0}};
    const auto file = RemoteCache::of_job()->path_of(name + std::to_string(i), kept_version);
    ASSERT_EQ(::utimensat(AT_FDCWD, file.c_str(), times.data(), 0), 0);
  }
  use("asked", "2200000", 1002);  // begins after files 0 and 1 were used
  keep(*named(4), 0, 500'000);
  EXPECT_EQ(n_missing(*named(0), 0, 500'000), 500'000);
  EXPECT_EQ(n_missing(*named(3), 0, 500'000), 0);
  use("asked", "1000000", 1002);
  const auto last = named(5);
  keep(*last, 0, 500'000);  // no room is made for it by files of this job
  EXPECT_EQ(n_missing(*last, 0, 500'000), 500'000);
  EXPECT_EQ(n_missing(*named(2), 0, 500'000), 0);
  EXPECT_EQ(n_missing(*named(4), 0, 500'000), 0);
}

TEST_F(CachedFileTest, WhatWasDroppedIsGoneAlsoForThoseWhoOpenItLater) {
  const auto file = open();
  keep(*file, 0, 1000);
  file->drop();
  EXPECT_EQ(n_missing(*file, 0, 1000), 1000);
  keep(*file, 0, 1000);
  EXPECT_EQ(n_missing(*open(), 0, 1000), 1000);
}

TEST_F(CachedFileTest, AFolderThatOthersReadIsNoOnesOwnButMayBeNamed) {
  ::chmod(folder.c_str(), 0755);
  use("own", "5%");
  EXPECT_EQ(open(), nullptr);
  use("asked", "5%");
  EXPECT_EQ(open(), nullptr);
  use("shared", "100000000");
  ASSERT_NE(open(), nullptr);
  keep(*open(), 0, 1000);
  EXPECT_EQ(n_missing(*open(), 0, 1000), 0);
}

TEST_F(CachedFileTest, WhatIsNoFileOfItsOwnIsNotWritten) {
  const auto at = RemoteCache::of_job()->path_of(name, kept_version);
  const auto victim = folder + "/victim";
  ASSERT_GE(::close(::open(victim.c_str(), O_CREAT | O_WRONLY, 0600)), 0);
  std::filesystem::create_symlink(victim, at);
  EXPECT_EQ(open(), nullptr);
  std::filesystem::remove(at);
  std::filesystem::create_hard_link(victim, at);
  EXPECT_EQ(open(), nullptr);
  std::filesystem::remove(at);
  ASSERT_EQ(::mkfifo(at.c_str(), 0600), 0);
  EXPECT_EQ(open(), nullptr);
  EXPECT_EQ(std::filesystem::file_size(victim), 0U);
}

TEST_F(CachedFileTest, FileSystemsThatMachinesShareAreKnown) {
  EXPECT_TRUE(RemoteCache::is_on_shared_disk(folder + "/none"));
  EXPECT_FALSE(RemoteCache::is_on_shared_disk("/proc"));
}

}  // namespace
}  // namespace forkrun
