#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>

#include <forkrun/bytes/big_endian.hpp>

namespace forkrun::root_io {

/// Reads data written by ROOT's TBufferFile, without making objects. Anything unexpected throws
/// `Unexpected`: ROOT itself may know more.
class ObjectStream {
 public:
  struct Unexpected {};
  static void require(bool is_as_expected) {
    if (!is_as_expected) {
      throw Unexpected{};
    }
  }

  /// Bytes after a key of this length: pointers are counted from its begin.
  ObjectStream(std::span<const std::byte> bytes, int key_length)
      : bytes_{bytes}, origin_{static_cast<std::size_t>(key_length)} {}

  [[nodiscard]] std::size_t at() const { return at_; }
  void seek(std::size_t at) {
    require(at >= at_ && at <= bytes_.size());
    at_ = at;
  }

  std::span<const std::byte> take(std::size_t n);
  /// Bytes from an earlier place to this one.
  [[nodiscard]] std::span<const std::byte> since(std::size_t earlier) const {
    return bytes_.subspan(earlier, at_ - earlier);
  }
  template <typename T>
  T number() {
    return big_endian<T>(take(sizeof(T)).data());
  }
  template <typename T>
  void skip(std::size_t n = 1) {
    static_cast<void>(take(n * sizeof(T)));
  }
  /// A TString.
  std::string_view text();
  /// A C array of a pointer member, with its number of values in another member.
  template <typename T>
  std::span<const std::byte> array(std::size_t n) {
    require(number<std::uint8_t>() == 1 || n == 0);
    return take(n * sizeof(T));
  }

  struct Object {
    int version{};
    std::size_t end{};
  };
  /// Head of an object of a class.
  Object object();
  void skip_object() { seek(object().end); }
  /// The members of TObject.
  void skip_base();

  struct Pointer {
    std::string_view type;  ///< class of an object that follows; "" otherwise
    std::size_t number{};   ///< number of the object pointed to, in this record; 0: null
    std::size_t end{};      ///< end of an object that follows
  };
  /// Head of an object with pointers to it, or a reference to an earlier one.
  Pointer pointer();
  /// Skips the object that follows, too, if there is one.
  void skip_pointer();

 private:
  std::string_view type();
  [[nodiscard]] std::size_t number_of(std::size_t at) const;

  std::span<const std::byte> bytes_;
  std::size_t origin_;
  std::size_t at_{};
  std::unordered_map<std::size_t, std::string_view> types_;
};

}  // namespace forkrun::root_io
