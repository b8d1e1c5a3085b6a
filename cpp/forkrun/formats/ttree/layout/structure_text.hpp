#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace forkrun::root_io {

/// All that trees which are merged must have in common, while their records are parsed.
class StructureText {
 public:
  void add(std::string_view part) {
    text_ += part;
    text_ += '\0';
  }
  void add(std::span<const std::byte> part) {
    add(std::string_view{reinterpret_cast<const char*>(part.data()), part.size()});
  }
  template <typename Number>
  void add_number(Number number) {
    add(std::to_string(number));
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace forkrun::root_io
