#include <forkrun/core/data/is_text.hpp>

#include <cstddef>

namespace forkrun {

namespace {

/// Bytes of the character with this first byte; 0: no character begins with it.
std::size_t length_from(unsigned char lead) {
  if (lead < 0x80) {
    return lead < 0x20 || lead == 0x7f ? 0 : 1;
  }
  if (lead < 0xc2 || lead > 0xf4) {
    return 0;
  }
  return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/// For three bytes and more: excludes overlong forms, surrogates, and code points beyond the last.
bool may_follow(unsigned char lead, unsigned char second) {
  switch (lead) {
    case 0xe0: return second >= 0xa0;
    case 0xed: return second < 0xa0;
    case 0xf0: return second >= 0x90;
    case 0xf4: return second < 0x90;
    default: return true;
  }
}

}  // namespace

bool is_text(std::string_view name) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(name[at]); };
  for (std::size_t at = 0; at < name.size();) {
    const auto end = at + length_from(byte(at));
    if (end == at || end > name.size() || (end > at + 1 && !may_follow(byte(at), byte(at + 1)))) {
      return false;
    }
    for (std::size_t next = at + 1; next < end; ++next) {
      if ((byte(next) & 0xc0U) != 0x80U) {
        return false;
      }
    }
    at = end;
  }
  return true;
}

}  // namespace forkrun
