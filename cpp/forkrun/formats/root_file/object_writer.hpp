#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <forkrun/bytes/big_endian.hpp>
#include <forkrun/formats/root_file/class_layouts.hpp>

namespace forkrun::root_io {

/// Writes data in the form of ROOT's TBufferFile, without objects.
class ObjectWriter {
 public:
  static constexpr std::uint32_t is_owner = 1U << 14U;  ///< a bit of collections

  /// The record's bytes follow a key of this length, from whose begin places are counted.
  explicit ObjectWriter(std::size_t key_length) : key_length_{key_length} {}

  template <typename T>
  void number(T value) {
    if constexpr (std::is_same_v<T, double>) {
      number(std::bit_cast<std::uint64_t>(value));
    } else if constexpr (std::is_same_v<T, float>) {
      number(std::bit_cast<std::uint32_t>(value));
    } else {
      put_big_endian(room(sizeof(T)).data(), value);
    }
  }
  template <typename... Ts>
  void numbers(Ts... values) {
    (number(values), ...);
  }
  /// A TString.
  void text(std::string_view text);
  /// A TArrayD.
  void array(std::span<const double> values);

  /// An object, or the part of it that a base class adds: its length, its version, its members.
  template <typename Body>
  void object(std::int16_t version, Body members) {
    const auto place = begin_counted();
    number(version);
    members();
    end_counted(place);
  }
  /// The members of TObject.
  void base(std::uint32_t bits = 0, std::uint32_t id = 0);
  /// TNamed.
  void named(std::string_view name, std::string_view title, std::uint32_t bits = 0);

  /// An object reached by a pointer, with the name of its class.
  template <typename Body>
  void pointer(const std::string& type, Body object) {
    const auto place = begin_counted();
    put_class(type);
    object();
    end_counted(place);
  }
  /// A null pointer to a class: files describe that, too.
  void null(const std::string& type);
  /// Number by which `reference` knows the object of the next pointer.
  [[nodiscard]] std::uint32_t next_number() const;
  /// A pointer to an earlier object.
  void reference(std::uint32_t object) { number(object); }
  /// A TObjArray of so many objects, which `pointers` writes.
  template <typename Body>
  void array_of_objects(std::size_t n_objects, std::uint32_t bits, Body pointers) {
    object(3, [&] {
      base(bits);
      text("");
      numbers(static_cast<std::int32_t>(n_objects), std::int32_t{0});
      pointers();
    });
  }
  /// Unchanged bytes.
  void raw(std::span<const std::byte> bytes);

  /// Classes of the objects reached by pointers.
  [[nodiscard]] const ClassesInFile& classes() const { return classes_; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> room(std::size_t n_bytes);
  [[nodiscard]] std::size_t begin_counted();
  void end_counted(std::size_t place);
  void put_class(const std::string& type);

  std::size_t key_length_;
  std::vector<std::byte> bytes_;
  ClassesInFile classes_;
  std::map<std::string, std::uint32_t> places_of_classes_;
};

/// Bytes of a TString.
[[nodiscard]] std::size_t n_text_bytes(std::string_view text);

/// Largest size of an object in a ROOT file.
constexpr std::size_t most_object_bytes = 0x3ffffffe;

}  // namespace forkrun::root_io
