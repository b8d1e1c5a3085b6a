#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <forkrun/bytes/byte_source.hpp>
#include <forkrun/bytes/remote/answer_head.hpp>
#include <forkrun/bytes/remote/remote_connection.hpp>

namespace forkrun {

/// Pieces and ranges fetched from a web server with one request, in the order of the file. The
/// ranges hold the pieces, and some bytes between them.
struct RangeRequest {
  std::vector<ByteRange> ranges{};
  std::vector<RemotePiece> pieces{};

  /// "0-99,1000-1099"
  [[nodiscard]] std::string header() const;
  /// Adds a piece, if there is room for it.
  bool add(const RemotePiece& piece, bool takes_many);

 private:
  [[nodiscard]] std::int64_t n_bytes() const;
};

/// `takes_many`: the server accepts several ranges in a request.
[[nodiscard]] std::vector<RangeRequest> range_requests(std::span<const RemotePiece> pieces,
                                                       bool takes_many);

/// Takes the answer: puts bytes where they belong. The answer to a request for many ranges has
/// parts, in the order of the file, each after a header with its range. The request outlives it.
class RangeAnswer {
 public:
  explicit RangeAnswer(const RangeRequest& request);

  /// Before the first bytes. False if they were not requested. `kind`: Content-Type; `content`:
  /// range of an answer without parts.
  bool begin(long status, std::string_view kind, const ContentRange& content);
  /// Whether it is a request for one range, of the first so many bytes.
  [[nodiscard]] bool asks_for(std::int64_t n_bytes) const {
    return is_one_ && request_.ranges.front().place == 0 &&
           request_.ranges.front().n_bytes == n_bytes;
  }
  /// Takes the next bytes. False if they are not of the ranges.
  bool take(std::span<const std::byte> bytes);
  /// The server does not deliver many ranges, or in another order, but may deliver single ones.
  [[nodiscard]] bool refuses_many() const { return refuses_many_; }
  [[nodiscard]] bool is_whole() const;
  /// Range that came instead of another one.
  [[nodiscard]] const std::optional<ByteRange>& other_range() const { return other_; }
  /// Size of the file, from parts; -1: unknown.
  [[nodiscard]] std::int64_t n_file_bytes() const { return n_file_bytes_; }

 private:
  [[nodiscard]] bool is_asked_for(const ByteRange& told) const;
  bool add_to_head(char c);
  void put(std::span<const std::byte> bytes);

  const RangeRequest& request_;
  bool is_one_;
  ByteRange part_{};  ///< rest of the part
  std::int64_t n_filled_ = 0;
  std::string head_{};
  bool refuses_many_ = false;
  std::optional<ByteRange> other_{};
  std::int64_t n_file_bytes_ = -1;
};

}  // namespace forkrun
