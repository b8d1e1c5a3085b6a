#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include <forkrun/bytes/byte_source.hpp>
#include <forkrun/bytes/remote/remote_connection.hpp>

namespace forkrun {

/// Ranges of a file fetched with one request.
struct ReadWindow {
  enum class State { waiting, in_flight, here };

  std::uint64_t serial{};  ///< the order in which windows are needed
  std::vector<ByteRange> ranges{};
  State state = State::waiting;
  std::vector<std::byte> bytes{};  ///< of the ranges, in order
  RemoteProblem problem{};         ///< of the previous, failed request
  bool stays = false;              ///< kept once fetched

  [[nodiscard]] std::int64_t n_bytes() const;
  /// Whether it needs checksums of the link, for some of its ranges.
  [[nodiscard]] bool is_verified() const;
  /// It is in flight now: makes room for the bytes, and returns the ranges to request.
  [[nodiscard]] std::vector<RemotePiece> begin();
};

/// Expected ranges of a remote file: windows of some megabytes, in the order of need. Chooses the
/// next to fetch, and keeps the latest ones, for other readers of the same bytes; all within 40 MB,
/// and kept windows.
class ReadWindows {
 public:
  /// Adds ranges in the order of need, without those already expected.
  void expect(std::span<const ByteRange> ranges);
  /// Ranges to keep from then on, as one window of at most 4 MB.
  std::shared_ptr<ReadWindow> expect_to_stay(std::span<const ByteRange> ranges);
  /// Attributes of these ranges, in the order of the file, to be remembered.
  void put(std::vector<ByteRange> ranges, std::vector<std::byte> bytes);

  /// Place of bytes in a window.
  struct Place {
    std::shared_ptr<ReadWindow> window{};  ///< nullptr: not expected
    std::size_t offset{};                  ///< in its bytes
  };
  [[nodiscard]] Place find(std::int64_t place, std::size_t n_bytes) const;
  /// A reader has come to it: earlier windows may be dropped.
  void note_read(const ReadWindow& window);
  /// Drops bytes of this range, to be fetched again with checksums of the link.
  void fetch_again(const ByteRange& range);
  /// From now on windows come with checksums of the link, even for ranges with their own.
  void verify_all();
  /// The window to fetch now; nullptr: enough is here or in flight.
  [[nodiscard]] std::shared_ptr<ReadWindow> next();

 private:
  struct Known {
    std::int64_t n_bytes{};
    std::shared_ptr<ReadWindow> window{};
    std::size_t offset{};
  };

  [[nodiscard]] bool knows(const ByteRange& range) const;
  [[nodiscard]] std::vector<ByteRange> take_last();
  std::shared_ptr<ReadWindow> add_window(std::vector<ByteRange> pieces);
  void forget(const std::shared_ptr<ReadWindow>& window);

  std::map<std::int64_t, Known> known_;              ///< by place
  std::deque<std::shared_ptr<ReadWindow>> windows_;  ///< by serial
  bool verifies_all_ = false;
  std::uint64_t n_windows_ = 0;
  std::uint64_t newest_read_ = 0;
};

}  // namespace forkrun
