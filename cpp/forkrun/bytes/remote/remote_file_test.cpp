#include <forkrun/bytes/remote/remote_file.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <forkrun/bytes/local_file.hpp>
#include <forkrun/bytes/remote/remote_protocols.hpp>
#include <forkrun/core/data/errors.hpp>

namespace forkrun {

namespace {

std::byte byte_at(std::int64_t place) { return static_cast<std::byte>(place * 7 % 251); }

/// A server with one file.
struct Server {
  std::int64_t n_bytes = 64 << 20;
  int n_failures = 0;  ///< of the next requests
  int n_connections = 0;
  bool is_away = false;
  bool damages = false;
  bool has_checks = true;
  std::int64_t modified_ns = 1;
  std::string tag{};
  bool is_balanced = false;  ///< so has every second answer
  std::byte begin = byte_at(0);
  std::vector<std::vector<ByteRange>> requests{};
  std::vector<bool> are_verified{};  ///< by request
  std::int64_t n_answers = 0;
  bool answers_later = false;  ///< in a thread of its own
  std::vector<std::jthread> threads{};

  /// Of the next answer: a balancer gives it to one node, then to the other.
  RemoteVersion next_version() {
    const bool is_of_other_node = is_balanced && ++n_answers % 2 == 0;
    return {n_bytes, modified_ns + (is_of_other_node ? 1 : 0), tag + (is_of_other_node ? "2" : "")};
  }
};

class Connection final : public RemoteConnection {
 public:
  explicit Connection(Server& server) : server_{server}, version_{server.next_version()} {}
  [[nodiscard]] RemoteVersion version() const override { return version_; }
  void accept(std::span<const RemoteVersion> known) override {
    known_.assign(known.begin(), known.end());
  }
  [[nodiscard]] bool has_checks() const override { return server_.has_checks; }
  std::int64_t read(std::span<const RemotePiece> pieces,
                    std::function<void(const RemoteProblem&)> done, Checks checks) override {
    if (server_.n_failures > 0) {
      --server_.n_failures;
      done({"lost", false});
      return 1;
    }
    if (const auto told = server_.next_version(); !std::ranges::any_of(
            known_, [&](const auto& each) { return each.change_to(told).empty(); })) {
      done({"another version", false, told});
      return 1;
    }
    server_.are_verified.push_back(checks == Checks::always);
    auto& request = server_.requests.emplace_back();
    for (const auto& [place, into] : pieces) {
      request.push_back({place, std::ssize(into)});
      for (std::size_t i = 0; i < into.size(); ++i) {
        into[i] = byte_at(place + static_cast<std::int64_t>(i) + (server_.damages ? 1 : 0));
      }
      if (place == 0) {
        into[0] = server_.begin;
      }
    }
    if (server_.answers_later) {
      server_.threads.emplace_back([done = std::move(done)] { done({}); });
    } else {
      done({});
    }
    return 1;
  }

 private:
  Server& server_;
  RemoteVersion version_;
  std::vector<RemoteVersion> known_{version_};
};

class RemoteFileTest : public testing::Test {
 protected:
  RemoteFile open() { return {"root://server//file", {replica(server)}}; }

  static RemoteFile::Replica replica(Server& of) {
    return {"root://server//file", [&of] {
              ++of.n_connections;
              return of.is_away ? RemoteOpened{nullptr, {"away", true}}
                                : RemoteOpened{std::make_unique<Connection>(of), {}};
            }};
  }

  void expect_bytes(RemoteFile& file, std::int64_t place, std::size_t n) {
    std::vector<std::byte> bytes(n);
    ASSERT_EQ(file.read(place, bytes, account), static_cast<std::int64_t>(n));
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_EQ(bytes[i], byte_at(place + static_cast<std::int64_t>(i)));
    }
  }

  Server server;
  ReadAccount account;
};

TEST_F(RemoteFileTest, BeginAndEndAreOneRequest) {
  auto file = open();
  expect_bytes(file, 0, 100);
  expect_bytes(file, server.n_bytes - 50, 50);
  EXPECT_EQ(server.requests.size(), 1U);
  EXPECT_EQ(account.calls, 1);
}

TEST_F(RemoteFileTest, NeighboursAreOnePiece) {
  auto file = open();
  expect_bytes(file, 0, 1);
  const std::array expected{ByteRange{5'000'000, 1000}, ByteRange{2'000'000, 500},
                            ByteRange{2'000'500, 500}};
  file.expect(expected, account);
  expect_bytes(file, 2'000'500, 500);
  expect_bytes(file, 5'000'000, 1000);
  ASSERT_EQ(server.requests.size(), 2U);
  ASSERT_EQ(server.requests[1].size(), 2U);
  EXPECT_EQ(server.requests[1][0].place, 2'000'000);
  EXPECT_EQ(server.requests[1][0].n_bytes, 1000);
}

TEST_F(RemoteFileTest, PiecesAreNoLongerThanARequestAllows) {
  auto file = open();
  const std::array expected{ByteRange{1'000'000, 5'000'000}};
  file.expect(expected, account);
  expect_bytes(file, 1'000'000, 5'000'000);
  for (const auto& request : server.requests) {
    for (const auto& piece : request) {
      EXPECT_LE(piece.n_bytes, RemoteConnection::most_piece_bytes);
    }
  }
}

TEST_F(RemoteFileTest, WhatIsExpectedIsReadOnceInItsOrderWhateverItsSize) {
  auto file = open();
  expect_bytes(file, 0, 1);
  const auto before = account.bytes;
  std::vector<ByteRange> expected;
  for (std::int64_t i = 0; i < 2000; ++i) {
    expected.push_back({100'000 + i * 30'000, 20'000});
  }
  file.expect(expected, account);
  EXPECT_LT(account.bytes - before, 20 << 20);  // not all at once
  for (const auto& [place, n_bytes, has_checksum] : expected) {
    expect_bytes(file, place, static_cast<std::size_t>(n_bytes));
    expect_bytes(file, place, 10);  // another reader needs it, too
  }
  EXPECT_EQ(account.bytes - before, 2000 * 20'000);
}

TEST_F(RemoteFileTest, WhatIsExpectedLaterComesWithTheRequestThatHasRoomForIt) {
  auto file = open();
  constexpr std::int64_t mb = 1 << 20;
  std::vector<ByteRange> expected;
  for (std::int64_t i = 1; i <= 24; ++i) {
    expected.push_back({i * mb, mb});
  }
  const std::span all{expected};
  file.expect(all.first(13), account);  // of which the first 12 are requested now
  EXPECT_EQ(server.requests.size(), 4U);
  file.expect(all.subspan(12, 2), account);
  file.expect(all.subspan(13), account);
  for (const auto& [place, n_bytes, has_checksum] : expected) {
    expect_bytes(file, place, static_cast<std::size_t>(n_bytes));
  }
  EXPECT_EQ(server.requests.size(), 7U);
  EXPECT_EQ(account.bytes, 24 * mb + (16 << 10) + (512 << 10));
}

TEST_F(RemoteFileTest, ReadersThatJumpFindTheirBytes) {
  auto file = open();
  std::vector<ByteRange> expected;
  for (std::int64_t i = 0; i < 600; ++i) {
    expected.push_back({100'000 + i * 100'000, 90'000});
  }
  file.expect(expected, account);
  for (const auto number : {599, 0, 300, 5, 598, 1, 17, 301}) {
    expect_bytes(file, expected[static_cast<std::size_t>(number)].place, 90'000);
  }
  expect_bytes(file, 150'000, 200'000);  // over what was expected and what was not
}

TEST_F(RemoteFileTest, AConnectionThatIsLostIsMadeAnew) {
  auto file = open();
  expect_bytes(file, 0, 1);
  server.n_failures = 1;
  expect_bytes(file, 3'000'000, 77);
  EXPECT_EQ(server.n_connections, 2);
  const std::array expected{ByteRange{4'000'000, 1000}, ByteRange{9'000'000, 1000}};
  server.n_failures = 2;  // when it is expected, and when it is read
  file.expect(expected, account);
  expect_bytes(file, 9'000'000, 1000);
  EXPECT_EQ(server.n_connections, 3);
}

TEST_F(RemoteFileTest, BeginAndEndAreAskedForAgainWithAnotherConnection) {
  server.n_failures = 1;
  auto file = open();
  EXPECT_EQ(server.n_connections, 2);
  expect_bytes(file, 0, 100);
  EXPECT_EQ(server.requests.size(), 1U);
}

TEST_F(RemoteFileTest, AFileThatChangesIsAnError) {
  auto file = open();
  server.n_failures = 1;
  server.n_bytes += 1;
  std::array<std::byte, 10> bytes{};
  EXPECT_THROW(file.read(3'000'000, bytes, account), InputError);
}

TEST_F(RemoteFileTest, WhatIsGivenUpIsNotAskedForAgain) {
  auto file = open();
  server.n_failures = 1;
  server.is_away = true;
  std::array<std::byte, 10> bytes{};
  EXPECT_THROW(file.read(3'000'000, bytes, account), UnreadBytes);
  const auto n_connections = server.n_connections;
  EXPECT_THROW(file.read(5'000'000, bytes, account), UnreadBytes);
  EXPECT_EQ(server.n_connections, n_connections);
  expect_bytes(file, 0, 100);  // which is here
}

TEST_F(RemoteFileTest, AnotherDateAloneDoesNotMakeAnotherFile) {
  for (const auto is_another : {false, true}) {
    auto file = open();
    server.n_failures = 1;
    ++server.modified_ns;  // of a cache's own copy, which is being written
    server.begin = byte_at(is_another ? 1 : 0);
    if (is_another) {
      std::array<std::byte, 10> bytes{};
      EXPECT_THROW(file.read(3'000'000, bytes, account), InputError);
    } else {
      expect_bytes(file, 3'000'000, 77);
    }
  }
}

TEST_F(RemoteFileTest, AnAnswerOfAnotherVersionIsNotTaken) {
  server.tag = "a";
  auto file = open();
  expect_bytes(file, 3'000'000, 77);
  server.tag = "b";
  ++server.modified_ns;  // a new file, with the begin and end of the old one
  std::array<std::byte, 10> bytes{};
  try {
    file.read(5'000'000, bytes, account);
    FAIL();
  } catch (const UnreadBytes& error) {
    EXPECT_NE(std::string{error.what()}.find("changed on the server while it was read (ETag a → b"),
              std::string::npos);
  }
}

TEST_F(RemoteFileTest, NodesOfABalancerMayTellVersionsOfTheirOwn) {
  server.tag = "a";
  server.is_balanced = true;
  auto file = open();
  for (std::int64_t place = 3'000'000; place < 9'000'000; place += 1'000'000) {
    expect_bytes(file, place, 77);
  }
  server.tag = "b";
  std::array<std::byte, 10> bytes{};
  server.is_balanced = false;
  server.modified_ns += 2;
  EXPECT_THROW(file.read(9'000'000, bytes, account), UnreadBytes);
}

TEST_F(RemoteFileTest, ATagAloneIsOfAnotherNode) {
  server.tag = "a";
  auto file = open();
  server.tag = "b";
  expect_bytes(file, 3'000'000, 77);
  server.tag = "c";
  server.begin = byte_at(1);
  std::array<std::byte, 10> bytes{};
  EXPECT_THROW(file.read(9'000'000, bytes, account), UnreadBytes);
}

TEST_F(RemoteFileTest, AFileThatCameDamagedAndBeginsOtherwiseHasChanged) {
  auto file = open();
  expect_bytes(file, 3'000'000, 77);
  EXPECT_TRUE(file.forget_damaged({3'000'000, 77}));
  server.begin = byte_at(1);
  EXPECT_THROW((void)file.forget_damaged({3'000'000, 77}), UnreadBytes);
}

TEST_F(RemoteFileTest, WhatHasNoChecksumComesWithThoseOfTheLink) {
  auto file = open();
  constexpr std::int64_t mb = 1 << 20;
  file.expect(std::array{ByteRange{mb, 5 * mb, true}, ByteRange{10 * mb, 5 * mb}}, account);
  EXPECT_EQ(server.are_verified, (std::vector{true, false, true}));
}

TEST_F(RemoteFileTest, WhatWasBelievedToHaveAChecksumIsReadAgainWithThoseOfTheLink) {
  constexpr std::int64_t mb = 1 << 20;
  const std::array expected{ByteRange{mb, 5 * mb, true}, ByteRange{10 * mb, 5 * mb, true},
                            ByteRange{20 * mb, 5 * mb, true}, ByteRange{30 * mb, 5 * mb, true},
                            ByteRange{40 * mb, 5 * mb, true}};
  for (const auto has_checks : {true, false}) {
    server = {};
    server.has_checks = has_checks;
    auto file = open();
    file.expect(expected, account);
    expect_bytes(file, mb, 100);
    const std::vector before{true, false, false, false, false};
    EXPECT_EQ(server.are_verified, before);
    EXPECT_EQ(file.forget_unverified({mb, 100}), has_checks);
    expect_bytes(file, mb, 100);
    EXPECT_FALSE(has_checks && file.forget_unverified({mb, 100}));
    expect_bytes(file, 40 * mb, 100);
    auto after = before;
    if (has_checks) {
      after.insert(after.end(), {true, true});
    } else {
      after.push_back(false);
    }
    EXPECT_EQ(server.are_verified, after);
  }
}

TEST(Patience, EndsWithItsPausesOrItsTime) {
  using std::chrono::seconds;
  Patience patience{{seconds{100}, seconds{1}, {seconds{0}, seconds{7}}}};
  EXPECT_EQ(patience.next_pause(), seconds{0});
  EXPECT_EQ(patience.next_pause(), seconds{7});
  EXPECT_EQ(patience.next_pause(), std::nullopt);
  EXPECT_FALSE(patience.is_over());
  Patience short_of_time{{seconds{0}, seconds{1}, {seconds{0}, seconds{0}}}};
  EXPECT_EQ(short_of_time.next_pause(), std::nullopt);
  EXPECT_TRUE(short_of_time.is_over());
}

TEST_F(RemoteFileTest, TheNextReplicaIsReadWhereOneFails) {
  Server gone;
  Server other;
  Server another;  // of the same size, and not the same file
  gone.is_away = true;
  another.begin = std::byte{99};
  RemoteFile file{"root://server//file",
                  {replica(gone), replica(server), replica(another), replica(other)}};
  expect_bytes(file, 3'000'000, 77);
  server.n_failures = 1;
  expect_bytes(file, 5'000'000, 77);
  for (const auto* each : {&gone, &server, &another, &other}) {
    EXPECT_EQ(each->n_connections, 1);
  }
  other.n_failures = 1;
  other.is_away = server.is_away = true;
  std::array<std::byte, 10> bytes{};
  EXPECT_THROW(file.read(7'000'000, bytes, account), InputError);
}

TEST_F(RemoteFileTest, WhatCameDamagedIsFetchedAgainFromTheNextReplica) {
  Server other;
  RemoteFile file{"root://server//file", {replica(server), replica(other)}};
  const std::array expected{ByteRange{2'000'000, 1000}, ByteRange{9'000'000, 1000}};
  server.damages = true;
  file.expect(expected, account);
  std::array<std::byte, 10> bytes{};
  EXPECT_EQ(file.read(2'000'000, bytes, account), 10);
  EXPECT_NE(bytes[0], byte_at(2'000'000));
  EXPECT_TRUE(file.forget_damaged({2'000'000, 1000}));
  expect_bytes(file, 2'000'000, 1000);
  expect_bytes(file, 9'000'000, 1000);
  EXPECT_EQ(other.requests.size(), 2U);  // how it begins, and the window
}

/// A file for the ends of remote ones, as the first process of a job makes it.
class SharedEndsTest : public RemoteFileTest {
 protected:
  void SetUp() override {
    const int file = ::open(path_.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    ASSERT_TRUE(write_at(file, 0, std::as_bytes(std::span{begin_})));
    const std::array end{std::ssize(begin_) + std::int64_t{8}};
    ASSERT_TRUE(write_at(file, std::ssize(begin_), std::as_bytes(std::span{end})));
    ::close(file);
    ::setenv("FORKRUN_ENDS", (begin_ + " " + path_).c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("FORKRUN_ENDS");
    ::unlink(path_.c_str());
  }

  std::string path_ =
      testing::TempDir() + "ends-" + std::to_string(::getpid()) + "-" + std::to_string(++n_files);

 private:
  std::string begin_ = "begins-so";
  static inline int n_files = 0;
};

TEST_F(SharedEndsTest, WhatAnotherProcessHasReadIsNotReadAgain) {
  constexpr std::int64_t elsewhere = 30'000'000;
  {
    auto file = open();
    expect_bytes(file, 0, 100);
    expect_bytes(file, elsewhere, 5000);  // a record before anything is expected
    const std::array expected{ByteRange{1'000'000, 1000}};
    file.expect(expected, account);
    expect_bytes(file, 1'000'000, 1000);
    expect_bytes(file, 2'000'000, 1000);
  }
  const auto n_requests = server.requests.size();
  for (const auto n_children : {1, 2}) {
    auto file = open();
    EXPECT_EQ(file.n_bytes(), server.n_bytes);
    EXPECT_EQ(file.modified_ns(), 1);
    expect_bytes(file, 0, 100);
    expect_bytes(file, server.n_bytes - 50, 50);
    expect_bytes(file, elsewhere, 5000);
    EXPECT_EQ(server.n_connections, n_children);
    EXPECT_EQ(server.requests.size(), n_requests + static_cast<std::size_t>(n_children - 1));
    expect_bytes(file, 2'000'000, 1000);  // is of no use to others
  }
}

TEST_F(SharedEndsTest, WhatAKilledProcessWroteInPartIsWrittenOver) {
  constexpr std::int64_t elsewhere = 30'000'000;
  {
    auto file = open();
    expect_bytes(file, 0, 100);
  }
  const int half_written = ::open(path_.c_str(), O_WRONLY | O_APPEND);
  const std::vector<char> junk(100'000, 'j');
  ASSERT_EQ(::write(half_written, junk.data(), junk.size()), std::ssize(junk));
  ::close(half_written);
  {
    auto file = open();
    expect_bytes(file, elsewhere, 5000);
  }
  const auto n_requests = server.requests.size();
  auto file = open();
  expect_bytes(file, 0, 100);
  expect_bytes(file, elsewhere, 5000);
  EXPECT_EQ(server.requests.size(), n_requests);
}

TEST_F(SharedEndsTest, AFileThatHasChangedSinceIsAnError) {
  expect_bytes(*std::make_unique<RemoteFile>("root://server//file", std::vector{replica(server)}),
               0, 100);
  ++server.n_bytes;
  auto file = open();
  expect_bytes(file, 0, 100);
  std::array<std::byte, 10> bytes{};
  EXPECT_THROW(file.read(3'000'000, bytes, account), InputError);
}

TEST_F(SharedEndsTest, WhatIsExpectedComesBeforeAnybodyAsks) {
  open();
  auto file = open();
  const std::array expected{ByteRange{1'000'000, 1000}, ByteRange{9'000'000, 1000}};
  file.expect(expected, account);
  expect_bytes(file, 9'000'000, 1000);
  EXPECT_EQ(server.n_connections, 2);
}

TEST_F(SharedEndsTest, AReaderAndWhoReadsAheadMakeOneConnection) {
  open();
  constexpr int n_times = 100;
  for (int i = 0; i < n_times; ++i) {
    auto file = open();
    const std::array expected{ByteRange{1'000'000, 1000}};
    file.expect(expected, account);
    expect_bytes(file, 1'000'000, 1000);
  }
  EXPECT_EQ(server.n_connections, 1 + n_times);
}

TEST_F(SharedEndsTest, WhyAFileCannotBeOpenedAheadIsToldToItsReader) {
  open();
  auto file = open();
  server.is_away = true;
  const std::array expected{ByteRange{1'000'000, 1000}};
  file.expect(expected, account);
  std::array<std::byte, 10> bytes{};
  EXPECT_THROW(file.read(1'000'000, bytes, account), UnreadBytes);
}

TEST(RemotePlaces, MessagesHaveNoSecrets) {
  EXPECT_EQ(without_secrets("no /f?authz=Bearer123&x=1 for me:secret@host",
                            "root://me:secret@host//f?authz=Bearer123&x=1"),
            "no /f?authz=…&x=1 for host");
}

TEST_F(RemoteFileTest, BehindTheEndIsNothing) {
  auto file = open();
  std::array<std::byte, 10> bytes{};
  EXPECT_EQ(file.read(server.n_bytes, bytes, account), 0);
  EXPECT_EQ(file.read(server.n_bytes - 4, bytes, account), 4);
}

class CachedRemoteFileTest : public RemoteFileTest {
 protected:
  void SetUp() override {
    auto pattern = (std::filesystem::temp_directory_path() / "cached-XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
    ::setenv("FORKRUN_REMOTE_CACHE", ("asked 1000000000 0 " + folder).c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("FORKRUN_REMOTE_CACHE");
    std::filesystem::remove_all(folder);
  }

  void read_some(RemoteFile& file) {
    file.expect(std::array{ByteRange{1 << 20, 5000}, ByteRange{9 << 20, 3 << 20}}, account);
    expect_bytes(file, 1 << 20, 5000);
    expect_bytes(file, 10 << 20, 1000);
    expect_bytes(file, 30 << 20, 100);
  }

  std::string folder;
};

TEST_F(CachedRemoteFileTest, TheNextJobAsksForTheVersionAlone) {
  {
    auto file = open();
    read_some(file);
  }
  server.requests.clear();
  account = {};
  auto file = open();
  read_some(file);
  EXPECT_TRUE(server.requests.empty());
  EXPECT_EQ(server.n_connections, 2);
  EXPECT_EQ(account.bytes, 0);
  EXPECT_EQ(account.cached_bytes, (16 << 10) + (512 << 10) + 5000 + (3 << 20) + 100);
  expect_bytes(file, 40 << 20, 10);
  EXPECT_EQ(server.requests.size(), 1U);
}

/// Else a process that ends thereupon would leave nothing for the next job.
TEST_F(CachedRemoteFileTest, AReaderGetsBytesWhenTheyAreKept) {
  auto file = open();
  const auto path = RemoteCache::entries(folder).at(0).path;
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(descriptor, LOCK_EX), 0);
  server.answers_later = true;
  auto reader = std::async(std::launch::async, [&] { expect_bytes(file, 20 << 20, 10); });
  EXPECT_EQ(reader.wait_for(std::chrono::milliseconds{20}), std::future_status::timeout);
  ::close(descriptor);
  reader.get();
  server.requests.clear();
  auto next = open();
  expect_bytes(next, 20 << 20, 10);
  EXPECT_TRUE(server.requests.empty());
}

TEST_F(CachedRemoteFileTest, OfAServerThatDoesNotAnswerTheVersionThatWasReadLastIsRead) {
  {
    auto file = open();
    read_some(file);
  }
  server.is_away = true;
  auto file = open();
  read_some(file);
  std::array<std::byte, 10> bytes{};
  EXPECT_THROW(file.read(40 << 20, bytes, account), UnreadBytes);
}

TEST_F(CachedRemoteFileTest, AnotherVersionIsReadOfTheServer) {
  {
    auto file = open();
    read_some(file);
  }
  server.requests.clear();
  server.modified_ns = 2;
  auto file = open();
  read_some(file);
  EXPECT_FALSE(server.requests.empty());
}

TEST_F(CachedRemoteFileTest, WhatIsDamagedIsReadOfTheServerAndKeptByTheNextJob) {
  std::array<std::byte, 10> bytes{};
  {
    auto file = open();
    server.damages = true;
    file.read(20 << 20, bytes, account);
  }
  server.damages = false;
  {
    auto file = open();
    file.read(20 << 20, bytes, account);
    EXPECT_NE(bytes[0], byte_at(20 << 20));
    EXPECT_TRUE(file.forget_damaged({20 << 20, 10}));
    expect_bytes(file, 20 << 20, 10);
  }
  {
    auto file = open();
    expect_bytes(file, 20 << 20, 10);
  }
  server.requests.clear();
  auto file = open();
  expect_bytes(file, 20 << 20, 10);
  EXPECT_TRUE(server.requests.empty());
}

}  // namespace
}  // namespace forkrun
