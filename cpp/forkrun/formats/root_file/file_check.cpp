#include <forkrun/formats/root_file/file_check.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <set>
#include <string_view>

#include <forkrun/bytes/local_io.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/root_file/file_record.hpp>

namespace forkrun::root_io {

namespace {

class WrittenFile {
 public:
  WrittenFile(int descriptor, const std::string& path) : descriptor_{descriptor}, path_{path} {}

  void check() {
    std::array<std::byte, n_header_bytes> bytes{};
    if (read(0, bytes).size() < bytes.size() ||
        std::string_view{reinterpret_cast<const char*>(bytes.data()), 4} != "root") {
      fail("it has no header");
    }
    const auto header = parse_header(bytes);
    find_records(header);
    expect(header.free_room, "the list of its free room");
    expect(header.classes, "the descriptions of its classes");
    check_keys(top_directory(bytes).directory);
  }

 private:
  void find_records(const FileHeader& header) {
    std::array<std::byte, n_record_bytes> bytes{};
    auto place = header.begin;
    while (place < header.end) {
      const auto record = parse_record(read(place, bytes));
      if (record.n_bytes == 0 || (record.n_bytes > 0 && record.place != place)) {
        fail("no record at byte " + std::to_string(place));
      }
      if (record.n_bytes > 0) {
        records_.insert(record);
      }
      place += std::abs(record.n_bytes);
    }
    std::byte last{};
    if (place != header.end || read(place - 1, {&last, 1}).empty()) {
      fail("it does not end where its header says");
    }
  }

  void check_keys(std::int64_t place_of_directory) {
    std::array<std::byte, n_directory_bytes> directory{};
    read(place_of_directory, directory);
    const auto place = key_list_of(directory);
    expect(place, "the list of its objects");
    std::vector<std::byte> list(static_cast<std::size_t>(std::max(place.n_bytes, 0)));
    const auto keys = keys_in(read(place.place, list));
    if (!keys) {
      fail("the list of its objects is damaged");
    }
    for (const auto& key : *keys) {
      expect(key, "an object");
    }
  }

  /// `record`: of no bytes if there is none.
  void expect(const RecordPlace& record, const std::string& what) const {
    if (record.n_bytes != 0 && !records_.contains(record)) {
      fail(what + " is not at byte " + std::to_string(record.place));
    }
  }

  std::span<std::byte> read(std::int64_t place, std::span<std::byte> into) const {
    const auto n = read_at(descriptor_, place, into);
    if (n < 0) {
      fail(std::strerror(errno));
    }
    return into.first(static_cast<std::size_t>(n));
  }

  [[noreturn]] void fail(const std::string& why) const {
    throw OutputError(path_ + ": what was written cannot be read back: " + why);
  }

  int descriptor_;
  const std::string& path_;
  std::set<RecordPlace> records_;
};

}  // namespace

void check_records(int descriptor, const std::string& path) {
  WrittenFile{descriptor, path}.check();
}

}  // namespace forkrun::root_io
