#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace forkrun {

/// Cost of columns of the input: reads of files, and unpacking.
struct InputCost {
  std::int64_t read_calls{};
  std::int64_t read_bytes{};  ///< requested
  std::int64_t read_ns{};     ///< until all bytes had arrived
  std::int64_t packed_bytes{};
  std::int64_t unpacked_bytes{};  ///< after unpacking
  std::int64_t unpack_ns{};
  std::int64_t n_unpacked{};  ///< baskets, pages, records

  InputCost& operator+=(const InputCost& other);
};

/// Cost in one thread: of the column that it reads, and of work that columns share.
struct InputCosts {
  InputCost own;
  InputCost common;
  std::int64_t common_ns{};  ///< whole time of the shared work

  /// Every read and every unpacking adds to it.
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

/// Accounts for a read of a file, during its lifetime.
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

/// Accounts for unpacking, during its lifetime.
class UnpackingNote {
 public:
  /// `n`: number of pieces, counted together.
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

/// Accounts work during its lifetime as shared by all columns, independent of the first to ask.
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

/// Measures this thread's work for the input during its lifetime, apart from other work.
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
