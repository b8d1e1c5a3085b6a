#include <forkrun/formats/root_file/output_descriptor.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <forkrun/bytes/local_file.hpp>
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
    const auto place = parse_directory(directory).key_list;
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

  /// `record`: without bytes if there is none.
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

/// Reads a written file as its readers will begin to: record after record from the header, each at
/// the place that it names, up to the end named in the header; including all records named in the
/// header and the top directory. One small read for each record. \throws OutputError
void check_records(int descriptor, const std::string& path) {
  WrittenFile{descriptor, path}.check();
}

}  // namespace

int open_output(const std::string& path, OutputMode mode) {
  const bool is_new = mode == OutputMode::create;
  if (is_new) {
    ::unlink(path.c_str());
  }
  const int flags = O_RDWR | O_CLOEXEC | (is_new ? O_CREAT | O_EXCL : 0);
  const int descriptor = ::open(path.c_str(), flags, 0644);
  if (descriptor < 0) {
    fail_output(path, "cannot be opened", errno);
  }
  return descriptor;
}

Uuid uuid_of(const ContentDigest& digest) {
  Uuid uuid{};
  const auto value = digest.value();
  std::memcpy(uuid.data(), value.data(), uuid.size());
  uuid[6] = (uuid[6] & std::byte{0x0f}) | std::byte{0x80};
  uuid[8] = (uuid[8] & std::byte{0x3f}) | std::byte{0x80};
  return uuid;
}

std::int64_t finish_output(int& descriptor, const std::string& path) {
  check_records(descriptor, path);
  struct stat status{};
  if (::fsync(descriptor) != 0 || ::fstat(descriptor, &status) != 0) {
    fail_output(path, "cannot be synced", errno);
  }
  close_output(descriptor, path);
  return status.st_size;
}

void close_output(int& descriptor, const std::string& path) {
  if (::close(std::exchange(descriptor, -1)) != 0) {
    fail_output(path, "cannot be closed", errno);
  }
}

void fail_to_write(const std::string& path, int error) {
  throw OutputError(path + ": cannot be written: " + std::strerror(error) +
                    "; free some space or choose another directory");
}

void fail_output(const std::string& path, const std::string& what, int error) {
  throw OutputError(path + ": " + what + ": " + std::strerror(error));
}

}  // namespace forkrun::root_io
