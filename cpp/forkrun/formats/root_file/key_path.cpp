#include <forkrun/formats/root_file/key_path.hpp>

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>

namespace forkrun::root_io {

namespace {

struct AskedName {
  std::string name;
  std::optional<int> cycle;
};

AskedName parse_asked(const std::string& asked) {
  const auto at = asked.rfind(';');
  if (at == std::string::npos) {
    return {asked, {}};
  }
  int cycle = 0;
  const auto* end = asked.data() + asked.size();
  const auto [stop, error] = std::from_chars(asked.data() + at + 1, end, cycle);
  const bool is_cycle = error == std::errc{} && stop == end;
  return is_cycle ? AskedName{asked.substr(0, at), cycle} : AskedName{asked, {}};
}

/// ROOT counts cycles from 1 and lists the newest first; 32767 is followed by -32768, and only the
/// order shows the newest. Other programs may list the newest last.
std::size_t newest_of(const std::vector<ListedKey>& keys, const std::vector<std::size_t>& numbers) {
  const auto cycle = [&](std::size_t number) { return keys[number].cycle; };
  const bool are_counted =
      std::ranges::all_of(numbers, [&](std::size_t number) { return cycle(number) > 0; });
  return are_counted ? *std::ranges::max_element(numbers, {}, cycle) : numbers.front();
}

}  // namespace

std::vector<std::size_t> newest_keys(const std::vector<ListedKey>& keys) {
  std::map<std::pair<std::string_view, bool>, std::vector<std::size_t>> by_name;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    by_name[{keys[i].name, keys[i].is_folder}].push_back(i);
  }
  std::vector<std::size_t> numbers;
  for (const auto& [name, of_name] : by_name) {
    numbers.push_back(newest_of(keys, of_name));
  }
  std::ranges::sort(numbers);
  return numbers;
}

std::optional<std::size_t> newest_key(const std::vector<ListedKey>& keys, const std::string& name,
                                      bool is_folder) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].name == name && keys[i].is_folder == is_folder) {
      numbers.push_back(i);
    }
  }
  return numbers.empty() ? std::nullopt : std::optional{newest_of(keys, numbers)};
}

std::optional<std::size_t> asked_key(const std::vector<ListedKey>& keys, const std::string& asked) {
  if (const auto exact = newest_key(keys, asked, false)) {
    return exact;
  }
  const auto [name, cycle] = parse_asked(asked);
  for (std::size_t i = 0; cycle && i < keys.size(); ++i) {
    if (keys[i].name == name && keys[i].cycle == *cycle && !keys[i].is_folder) {
      return i;
    }
  }
  return {};
}

std::string without_cycle(const std::string& asked) { return parse_asked(asked).name; }

}  // namespace forkrun::root_io
