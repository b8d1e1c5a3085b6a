#include <forkrun/bytes/remote/answer_head.hpp>

#include <algorithm>
#include <charconv>

namespace forkrun {

namespace {

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  return begin == std::string_view::npos
             ? std::string_view{}
             : text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

std::string lower(std::string_view text) {
  std::string result{text};
  std::ranges::transform(result, result.begin(), lower_case);
  return result;
}

std::string without_query(const std::string& url) { return url.substr(0, url.find('?')); }

}  // namespace

char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

ContentRange ContentRange::of(std::string_view value) {
  constexpr std::string_view unit = "bytes";
  ContentRange told;
  value = trimmed(value);
  if (!value.starts_with(unit)) {
    return told;
  }
  value = trimmed(value.substr(unit.size()));
  const char* const end = value.data() + value.size();
  std::int64_t first = -1;
  std::int64_t last = -1;
  if (const auto [dash, error] = std::from_chars(value.data(), end, first);
      error == std::errc{} && dash != end && *dash == '-') {
    std::from_chars(dash + 1, end, last);
  }
  if (first >= 0 && last >= first) {
    told.range = {first, last + 1 - first};
  }
  if (const auto slash = value.find('/'); slash != std::string_view::npos) {
    std::from_chars(value.data() + slash + 1, end, told.n_bytes);
  }
  return told;
}

void AnswerHead::take(std::string_view line) {
  const auto colon = line.find(':');
  const auto name = lower(line.substr(0, colon));
  if (name.starts_with("http/")) {
    content = {};
    tag.clear();
  }
  if (colon == std::string_view::npos) {
    return;
  }
  const auto value = trimmed(line.substr(colon + 1));
  if (name == "content-range") {
    content = ContentRange::of(lower(value));
  } else if (name == "etag") {
    tag = value.starts_with("W/") ? value.substr(2) : value;
  } else if (name == "location") {
    places.emplace_back(value);
  }
}

std::string AnswerHead::way_from(const std::string& url) const {
  auto text = without_query(url);
  for (auto place = places.begin(); place != places.end(); ++place) {
    text += " → " + without_query(*place);
    if (std::find(places.begin(), place, *place) != place) {
      return "in a loop: " + text;
    }
  }
  return text;
}

}  // namespace forkrun
