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

/// Ranges of a file that are fetched with one request.
struct ReadWindow {
  enum class State { waiting, in_flight, here };

  std::uint64_t serial{};  ///< the order in which windows are needed
  std::vector<ByteRange> ranges{};
  State state = State::waiting;
  std::vector<std::byte> bytes{};  ///< of the ranges, one after the other
  RemoteProblem problem{};         ///< of the request before, which failed
  bool stays = false;              ///< once it is here

  [[nodiscard]] std::int64_t n_bytes() const;
  /// Whether it comes with checksums of the link, which some range needs.
  [[nodiscard]] bool is_verified() const;
  /// It is in flight now: makes room for the bytes, and gives what is to be requested.
  [[nodiscard]] std::vector<RemotePiece> begin();
};

/// What will be read of a remote file: windows of some megabytes, in the order of need. Says which
/// to fetch next, and keeps those that were read last, for other readers of the same bytes; all
/// within 40 MB, and what stays.
class ReadWindows {
 public:
  /// Ranges in the order of need. Those that are expected already are left out.
  void expect(std::span<const ByteRange> ranges);
  /// Ranges that are kept from then on, as one window of at most 4 MB.
  std::shared_ptr<ReadWindow> expect_to_stay(std::span<const ByteRange> ranges);
  /// What is known of these ranges, in the order of the file, which is kept.
  void put(std::vector<ByteRange> ranges, std::vector<std::byte> bytes);

  /// Where bytes are, or will be.
  struct Place {
    std::shared_ptr<ReadWindow> window{};  ///< nullptr: they are not expected
    std::size_t offset{};                  ///< in its bytes
  };
  [[nodiscard]] Place find(std::int64_t place, std::size_t n_bytes) const;
  /// Somebody reads it: what is before it may go.
  void note_read(const ReadWindow& window);
  /// What is here of this range is to be fetched again, with checksums of the link.
  void fetch_again(const ByteRange& range);
  /// What is not on its way yet comes with checksums of the link, whatever it has of its own.
  void verify_all();
  /// What is to be fetched now; nullptr: enough is here or on its way.
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
