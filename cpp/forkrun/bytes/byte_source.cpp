#include <forkrun/bytes/byte_source.hpp>

#include <iostream>

namespace forkrun {

std::string cannot_read(const std::string& path, std::int64_t place, const std::string& why) {
  return path + ": cannot be read at byte " + std::to_string(place) +
         (why.empty() ? "" : ": " + why);
}

void say(const std::string& text) { std::clog << "forkrun: " + text + '\n' << std::flush; }

}  // namespace forkrun
