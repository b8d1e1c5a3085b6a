#include <forkrun/pages/mapping.hpp>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>

namespace forkrun::pages {

namespace {

Mapping parse_mapping(const std::string& line) {
  Mapping mapping;
  std::istringstream words{line};
  std::string mode;
  std::string offset;
  std::string device;
  std::string inode;
  char dash{};
  words >> std::hex >> mapping.start >> dash >> mapping.end >> mode >> offset >> device >> inode;
  std::getline(words >> std::ws, mapping.path);
  mapping.is_accessible = mode.find_first_of("rw") != std::string::npos;
  mapping.is_private = mode.ends_with('p');
  return mapping;
}

}  // namespace

std::string proc_file(pid_t pid, const char* name) {
  return "/proc/" + (pid == 0 ? std::string{"self"} : std::to_string(pid)) + "/" + name;
}

std::vector<Mapping> read_mappings(pid_t pid) {
  const auto path = proc_file(pid, "maps");
  std::ifstream lines{path};
  if (!lines) {
    throw std::system_error{errno, std::generic_category(), path};
  }
  std::vector<Mapping> mappings;
  for (std::string line; std::getline(lines, line);) {
    mappings.push_back(parse_mapping(line));
  }
  return mappings;
}

}  // namespace forkrun::pages
