#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace forkrun {

/// What columns of the input have taken: reads of files, and unpacking of what was read.
struct InputCost {
  std::int64_t read_calls{};
  std::int64_t read_bytes{};  ///< that were asked for
  std::int64_t read_ns{};     ///< until they were there
  std::int64_t packed_bytes{};
  std::int64_t unpacked_bytes{};  ///< what these became
  std::int64_t unpack_ns{};
  std::int64_t n_unpacked{};  ///< baskets, pages, records

  InputCost& operator+=(const InputCost& other);
};

/// The same of one thread: for the column that it reads, and for what columns have in common.
struct InputCosts {
  InputCost own;
  InputCost common;
  std::int64_t common_ns{};  ///< whole time of what is common

  /// Whoever reads or unpacks adds to it.
  [[nodiscard]] static InputCosts& of_this_thread();
  [[nodiscard]] InputCost in_all() const {
    auto sum = own;
    return sum += common;
  }
};

class NanosecondTimer {
 public:
  [[nodiscard]] std::int64_t elapsed_ns() const {
    return std::chrono::nanoseconds{std::chrono::steady_clock::now() - begin_}.count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Bytes of a file are being read, while it lives.
class ReadingNote {
 public:
  explicit ReadingNote(std::size_t n_bytes) : n_bytes_{n_bytes} {}
  ReadingNote(const ReadingNote&) = delete;
  ReadingNote& operator=(const ReadingNote&) = delete;
  ~ReadingNote() {
    auto& mine = InputCosts::of_this_thread().own;
    ++mine.read_calls;
    mine.read_bytes += static_cast<std::int64_t>(n_bytes_);
    mine.read_ns += timer_.elapsed_ns();
  }

 private:
  std::size_t n_bytes_;
  NanosecondTimer timer_;
};

/// Bytes are being uncompressed, while it lives.
class UnpackingNote {
 public:
  /// `n`: pieces together.
  UnpackingNote(std::size_t n_packed, std::size_t n_unpacked, std::int64_t n = 1)
      : n_packed_{n_packed}, n_unpacked_{n_unpacked}, n_{n} {}
  UnpackingNote(const UnpackingNote&) = delete;
  UnpackingNote& operator=(const UnpackingNote&) = delete;
  ~UnpackingNote() {
    auto& mine = InputCosts::of_this_thread().own;
    mine.packed_bytes += static_cast<std::int64_t>(n_packed_);
    mine.unpacked_bytes += static_cast<std::int64_t>(n_unpacked_);
    mine.unpack_ns += timer_.elapsed_ns();
    mine.n_unpacked += n_;
  }

 private:
  std::size_t n_packed_, n_unpacked_;
  std::int64_t n_;
  NanosecondTimer timer_;
};

/// What is done while it lives is done for all columns alike, whichever asked for it first.
class ForAllColumns {
 public:
  ForAllColumns() = default;
  ForAllColumns(const ForAllColumns&) = delete;
  ForAllColumns& operator=(const ForAllColumns&) = delete;
  ~ForAllColumns() {
    auto& mine = InputCosts::of_this_thread();
    mine.common += std::exchange(mine.own, before_);
    mine.common_ns += timer_.elapsed_ns();
  }

 private:
  InputCost before_ = std::exchange(InputCosts::of_this_thread().own, {});
  NanosecondTimer timer_;
};

/// What this thread does for the input while it lives, apart from what it does otherwise.
class MeasuredInput {
 public:
  MeasuredInput() = default;
  MeasuredInput(const MeasuredInput&) = delete;
  MeasuredInput& operator=(const MeasuredInput&) = delete;
  ~MeasuredInput() { InputCosts::of_this_thread() = before_; }
  [[nodiscard]] const InputCosts& costs() const { return InputCosts::of_this_thread(); }

 private:
  InputCosts before_ = std::exchange(InputCosts::of_this_thread(), {});
};

}  // namespace forkrun
