#include <forkrun/bytes/remote/range_requests.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace forkrun {

namespace {

constexpr auto kind = "multipart/byteranges; boundary=x";

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span{text});
}

std::string part(int first, const std::string& text) {
  const auto last = std::to_string(first + std::ssize(text) - 1);
  return "\r\n--x\r\nContent-Type: a/b\r\ncontent-range: bytes " + std::to_string(first) + "-" +
         last + "/90000\r\n\r\n" + text;
}

/// Two pieces next to each other and one far behind.
class RangeAnswerTest : public testing::Test {
 protected:
  RangeAnswerTest() { EXPECT_EQ(requests_.size(), 1U); }

  std::string near_ = "....";
  std::string next_ = "....";
  std::string far_ = "....";
  std::vector<RangeRequest> requests_ = range_requests(
      std::vector<RemotePiece>{{50'000, into(far_)}, {10, into(near_)}, {16, into(next_)}}, true);
  RangeAnswer answer_{requests_.at(0)};

  static std::span<std::byte> into(std::string& text) {
    return std::as_writable_bytes(std::span{text});
  }
};

TEST_F(RangeAnswerTest, PartsComeInAnyPackets) {
  EXPECT_EQ(requests_.at(0).header(), "10-19,50000-50003");
  const auto text = part(10, "abcdxxefgh") + part(50'000, "ijkl") + "\r\n--x--\r\n";
  for (const std::size_t size : {1, 7, 1000}) {
    near_ = next_ = far_ = "....";
    RangeAnswer answer{requests_.at(0)};
    EXPECT_TRUE(answer.begin(206, kind, {}));
    for (std::size_t at = 0; at < text.size(); at += size) {
      EXPECT_TRUE(answer.take(bytes_of(text.substr(at, size))));
    }
    EXPECT_TRUE(answer.is_whole());
    EXPECT_EQ(near_ + next_ + far_, "abcdefghijkl");
  }
}

TEST_F(RangeAnswerTest, AMissingPartIsNoticed) {
  EXPECT_TRUE(answer_.begin(206, kind, {}));
  EXPECT_TRUE(answer_.take(bytes_of(part(10, "abcdxxefgh") + "\r\n--x--\r\n")));
  EXPECT_FALSE(answer_.is_whole());
}

TEST_F(RangeAnswerTest, APartThatComesTwiceIsNotTakenForAnother) {
  EXPECT_TRUE(answer_.begin(206, kind, {}));
  EXPECT_FALSE(answer_.take(bytes_of(part(10, "abcdxxefgh") + part(10, "abcd"))));
  EXPECT_TRUE(answer_.refuses_many());
}

TEST_F(RangeAnswerTest, ServersThatGiveTheWholeFileOrOneRangeAreAskedForEach) {
  EXPECT_FALSE(answer_.begin(200, "application/octet-stream", {}));
  EXPECT_TRUE(answer_.refuses_many());
  EXPECT_FALSE(answer_.begin(206, "application/octet-stream", {}));
  EXPECT_TRUE(answer_.refuses_many());
  EXPECT_FALSE(answer_.begin(403, "text/html", {}));
  EXPECT_FALSE(answer_.refuses_many());
  EXPECT_EQ(range_requests(requests_.at(0).pieces, false).size(), 1U);  // with the bytes between
}

TEST_F(RangeAnswerTest, OneRangeIsTakenAsItComes) {
  const auto one = range_requests(std::vector<RemotePiece>{{100, into(near_)}}, true);
  RangeAnswer answer{one.at(0)};
  EXPECT_TRUE(answer.begin(206, "", {{100, 4}, 90'000}));
  EXPECT_TRUE(answer.take(bytes_of("ab")));
  EXPECT_FALSE(answer.is_whole());
  EXPECT_TRUE(answer.take(bytes_of("cd")));
  EXPECT_TRUE(answer.is_whole());
  EXPECT_FALSE(answer.take(bytes_of("e")));
  EXPECT_FALSE(answer.refuses_many());
}

TEST_F(RangeAnswerTest, AnotherRangeThanWasAskedForIsNotTaken) {
  const auto one = range_requests(std::vector<RemotePiece>{{100, into(near_)}}, true);
  for (const auto& told : {ByteRange{96, 4}, ByteRange{100, 3}, ByteRange{100, 5}, ByteRange{}}) {
    RangeAnswer answer{one.at(0)};
    EXPECT_FALSE(answer.begin(206, "", {told, 90'000}));
    ASSERT_TRUE(answer.other_range());
    EXPECT_EQ(answer.other_range()->place, told.place);
  }
}

TEST_F(RangeAnswerTest, PartsTellTheSizeOfTheFile) {
  EXPECT_TRUE(answer_.begin(206, kind, {}));
  EXPECT_EQ(answer_.n_file_bytes(), -1);
  EXPECT_TRUE(answer_.take(bytes_of(part(10, "abcdxxefgh"))));
  EXPECT_EQ(answer_.n_file_bytes(), 90'000);
}

TEST(AnswerHead, IsOfTheLastAnswer) {
  AnswerHead head;
  for (const auto* line :
       {"HTTP/1.1 302 Found\r\n", "ETag: \"no\"\r\n", "location: https://b/f?sig=secret\r\n",
        "HTTP/1.1 206 Partial Content\r\n", "eTag: W/\"x\"\r\n", "CONTENT-RANGE:Bytes 5-9/*\r\n",
        "\r\n"}) {
    head.take(line);
  }
  EXPECT_EQ(head.tag, "\"x\"");
  EXPECT_EQ(head.content.range.place, 5);
  EXPECT_EQ(head.content.range.n_bytes, 5);
  EXPECT_EQ(head.content.n_bytes, -1);
  EXPECT_EQ(ContentRange::of("bytes */77").n_bytes, 77);
  EXPECT_EQ(ContentRange::of("items 1-2/3").range.n_bytes, 0);
  EXPECT_EQ(head.way_from("https://a/f?x=1"), "https://a/f → https://b/f");
  head.take("Location: https://b/f?sig=secret");
  EXPECT_EQ(head.way_from("https://a/f"), "in a loop: https://a/f → https://b/f → https://b/f");
}

TEST(RangeRequests, AreAsLargeAsServersTakeThem) {
  std::vector<std::string> memory(1000, std::string(4000, '.'));
  std::vector<RemotePiece> pieces;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    pieces.push_back(
        {static_cast<std::int64_t>(i) * 20'000, std::as_writable_bytes(std::span{memory[i]})});
  }
  std::size_t n_pieces = 0;
  for (const auto& request : range_requests(pieces, true)) {
    EXPECT_LE(request.ranges.size(), 100U);
    n_pieces += request.pieces.size();
  }
  EXPECT_EQ(n_pieces, 1000U);
  EXPECT_EQ(range_requests(pieces, true).size(), 10U);
  EXPECT_EQ(range_requests(pieces, false).size(), 5U);  // of 4 MB, with the bytes between
}

}  // namespace
}  // namespace forkrun
