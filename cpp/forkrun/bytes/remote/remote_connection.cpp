#include <forkrun/bytes/remote/remote_connection.hpp>

#include <array>
#include <ctime>

namespace forkrun {

namespace {

std::string date(std::int64_t since_1970_ns) {
  const std::time_t seconds = since_1970_ns / 1'000'000'000;
  std::tm parts{};
  std::array<char, 32> text{};
  ::gmtime_r(&seconds, &parts);
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts)};
}

void add(std::string& text, const std::string& what) { text += (text.empty() ? "" : ", ") + what; }

}  // namespace

std::string RemoteVersion::change_to(const RemoteVersion& other) const {
  std::string text;
  if (n_bytes >= 0 && other.n_bytes >= 0 && n_bytes != other.n_bytes) {
    add(text, "size " + std::to_string(n_bytes) + " → " + std::to_string(other.n_bytes));
  }
  if (!tag.empty() && !other.tag.empty() && tag != other.tag) {
    add(text, "ETag " + tag + " → " + other.tag);
  }
  if (modified_ns != 0 && other.modified_ns != 0 && modified_ns != other.modified_ns) {
    add(text, "date " + date(modified_ns) + " → " + date(other.modified_ns));
  }
  return text;
}

bool RemoteVersion::differs_in_all(const RemoteVersion& other) const {
  const bool are_dates_told = modified_ns != 0 && other.modified_ns != 0;
  return !tag.empty() && !other.tag.empty() && tag != other.tag &&
         !(are_dates_told && modified_ns == other.modified_ns);
}

}  // namespace forkrun
