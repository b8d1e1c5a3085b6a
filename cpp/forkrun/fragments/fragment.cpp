#include <forkrun/fragments/fragment.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include <forkrun/bytes/local_file.hpp>
#include <forkrun/bytes/zip.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/data/unit_of_work.hpp>
#include <forkrun/process/file_checksum.hpp>

// A file begins with the magic and its columns: their number, then name and type of each. Pieces
// follow: the number of entry ranges, the ranges, and per column the number of values, the counts
// of each level of lists, and the values. A piece without ranges is the end. Numbers have 64 bits;
// texts, and packed bytes, follow their sizes; byte order is the machine's own.
static_assert(std::endian::native == std::endian::little);

namespace forkrun {

namespace {

constexpr std::string_view magic = "frkfrag1";
constexpr std::size_t piece_bytes = 8U << 20U;
/// Limit to the memory that a number in a damaged file may request.
constexpr std::uint64_t most_bytes = 1ULL << 36U;
/// Temporary files are read once: compressed a little, quickly.
Compression packing() { return Compression::parse("zstd:1"); }

template <typename T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span{values});
}

}  // namespace

std::int64_t FragmentPiece::n_events() const { return n_events_of(entries); }

FragmentWriter::FragmentWriter(const std::string& path,
                               const std::vector<ColumnDescription>& columns)
    : path_{path} {
  ::unlink(path.c_str());  // left by a killed process
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_CREAT | O_EXCL, 0644);
  if (descriptor_ < 0) {
    fail("cannot be opened");
  }
  put(std::as_bytes(std::span{magic}));
  put_number(columns.size());
  for (const auto& column : columns) {
    for (const auto& text : {column.name, column.type.name()}) {
      put_number(text.size());
      put(std::as_bytes(std::span{text}));
    }
    auto& values = columns_.emplace_back();
    values.value_size = size_of(column.type.element);
    values.n_in_item = column.type.n_in_item();
    values.n_levels = column.type.n_levels();
  }
}

FragmentWriter::~FragmentWriter() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

void FragmentWriter::add_entries(const EntryRange& entries) { append(entries_, entries); }

void FragmentWriter::add(std::size_t number, const Column& column, std::span<const EntryRun> runs) {
  auto& to = columns_[number];
  const auto bytes = column.values<std::byte>().data();
  const auto item_size = to.value_size * to.n_in_item;
  for (const auto& run : runs) {
    auto first = static_cast<std::size_t>(run.first);
    auto last = static_cast<std::size_t>(run.last);
    for (std::size_t level = 0; level < to.n_levels; ++level) {
      add_counts(column.offsets(level), first, last, to.counts.at(level));
    }
    const auto n_bytes = (last - first) * item_size;
    if (n_bytes > 0) {
      std::memcpy(to.values.extend(n_bytes), bytes + first * item_size, n_bytes);
    }
  }
}

void FragmentWriter::add_counts(std::span<const std::int64_t> offsets, std::size_t& first,
                                std::size_t& last, std::vector<std::int32_t>& counts) {
  for (auto list = first; list < last; ++list) {
    counts.push_back(static_cast<std::int32_t>(offsets[list + 1] - offsets[list]));
  }
  first = static_cast<std::size_t>(offsets[first]);
  last = static_cast<std::size_t>(offsets[last]);
}

std::size_t FragmentWriter::n_pending_bytes() const {
  const auto n_bytes = entries_.size() * sizeof(EntryRange);
  return std::accumulate(columns_.begin(), columns_.end(), n_bytes, [](auto n, const auto& column) {
    const auto n_counts =
        std::accumulate(column.counts.begin(), column.counts.end(), std::size_t{},
                        [](auto n_before, const auto& counts) { return n_before + counts.size(); });
    return n + column.values.size() + n_counts * sizeof(std::int32_t);
  });
}

void FragmentWriter::end_of_step() {
  if (n_pending_bytes() >= piece_bytes) {
    write_piece();
  }
}

void FragmentWriter::write_piece() {
  put_number(entries_.size());
  std::vector<std::int64_t> numbers;
  numbers.reserve(3 * entries_.size());
  for (const auto& range : entries_) {
    numbers.insert(numbers.end(), {range.file, range.first, range.last});
  }
  put_packed(bytes_of(numbers));
  for (auto& column : columns_) {
    put_number(column.values.size() / column.value_size);
    for (std::size_t level = 0; level < column.n_levels; ++level) {
      put_packed(bytes_of(column.counts.at(level)));
      column.counts.at(level).clear();
    }
    put_packed(column.values.view());
    column.values.clear();
  }
  entries_.clear();
}

void FragmentWriter::put_packed(std::span<const std::byte> bytes) {
  const auto n_zipped = bytes.empty() ? 0 : zip(bytes, packing(), packed_.resize(bytes.size()));
  put_number(n_zipped);
  put(n_zipped == 0 ? bytes : packed_.view().first(n_zipped));
}

void FragmentWriter::put_number(std::uint64_t number) { put(std::as_bytes(std::span{&number, 1})); }

void FragmentWriter::put(std::span<const std::byte> bytes) {
  if (!write_at(descriptor_, n_written_, bytes)) {
    fail("cannot be written");
  }
  n_written_ += static_cast<std::int64_t>(bytes.size());
  checksum_ = crc32c(bytes, checksum_);
}

std::int64_t FragmentWriter::close(Sync sync) {
  if (!entries_.empty()) {
    write_piece();
  }
  put_number(0);
  if (sync == Sync::yes && ::fdatasync(descriptor_) != 0) {
    fail("cannot be synced");
  }
  const auto descriptor = descriptor_;
  descriptor_ = -1;
  if (::close(descriptor) != 0) {
    fail("cannot be closed");
  }
  return n_written_;
}

void FragmentWriter::abandon() noexcept {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
    descriptor_ = -1;
  }
  ::unlink(path_.c_str());
}

void FragmentWriter::fail(const std::string& what) const {
  throw OutputError(path_ + ": " + what + ": " + std::strerror(errno) +
                    "; free some space or choose another directory");
}

FragmentReader::FragmentReader(const std::string& path)
    : path_{path}, stream_{path, std::ios::binary} {
  std::array<char, magic.size()> found{};
  read(std::as_writable_bytes(std::span{found}));
  if (std::string_view{found.data(), found.size()} != magic) {
    fail();
  }
  const auto n_columns = checked_size(number(), 1);
  for (std::size_t i = 0; i < n_columns; ++i) {
    const auto name = text();
    const auto type = text();
    try {
      columns_.push_back({name, ColumnType::parse(type)});
    } catch (const Error&) {
      fail();
    }
  }
}

std::optional<FragmentPiece> FragmentReader::next() {
  const auto n_ranges = number();
  if (n_ranges == 0) {
    return {};
  }
  FragmentPiece piece;
  std::vector<std::int64_t> numbers(3 * checked_size(n_ranges, 3 * sizeof(std::int64_t)));
  unpack(std::as_writable_bytes(std::span{numbers}));
  for (std::size_t i = 0; i < numbers.size(); i += 3) {
    piece.entries.push_back(
        {static_cast<std::uint32_t>(numbers[i]), numbers[i + 1], numbers[i + 2]});
  }
  const auto n_events = static_cast<std::size_t>(piece.n_events());
  for (const auto& described : columns_) {
    read_column(piece.columns.emplace_back(described.type), n_events);
  }
  return piece;
}

void FragmentReader::read_column(Column& column, std::size_t n_events) {
  const auto type = column.type();
  const auto size = size_of(type.element);
  const auto n_values = checked_size(number(), size);
  auto n = n_events;
  for (std::size_t level = 0; level < type.n_levels(); ++level) {
    std::vector<std::int32_t> counts(checked_size(n, sizeof(std::int32_t)));
    unpack(std::as_writable_bytes(std::span{counts}));
    if (std::ranges::any_of(counts, [](auto count) { return count < 0; })) {
      fail();
    }
    const auto offsets = column.resize_offsets(n, level);
    offsets[0] = 0;
    std::inclusive_scan(counts.begin(), counts.end(), offsets.begin() + 1, std::plus<>{},
                        std::int64_t{0});
    n = static_cast<std::size_t>(offsets[n]);
  }
  if (n_values != n * type.n_in_item()) {
    fail();
  }
  unpack({column.resize_values(n_values), n_values * size});
}

std::uint64_t FragmentReader::number() {
  std::uint64_t number{};
  read(std::as_writable_bytes(std::span{&number, 1}));
  return number;
}

std::string FragmentReader::text() {
  std::string text(checked_size(number(), 1), '\0');
  read(std::as_writable_bytes(std::span{text}));
  return text;
}

void FragmentReader::unpack(std::span<std::byte> into) {
  const auto n_zipped = number();
  if (n_zipped == 0) {
    return read(into);
  }
  packed_.resize(checked_size(n_zipped, 1));
  read(packed_);
  try {
    unzip(packed_, into);
  } catch (const Error&) {
    fail();
  }
}

void FragmentReader::read(std::span<std::byte> into) {
  const auto n_bytes = static_cast<std::streamsize>(into.size());
  if (!stream_.read(reinterpret_cast<char*>(into.data()), n_bytes)) {
    fail();
  }
}

std::size_t FragmentReader::checked_size(std::uint64_t n, std::size_t unit) const {
  if (n > most_bytes / unit) {
    fail();
  }
  return static_cast<std::size_t>(n);
}

void FragmentReader::fail() const {
  throw InputError(path_ + ": not a fragment of an output, or damaged");
}

std::pair<std::int64_t, std::uint32_t> join_fragments(
    const std::vector<std::string>& paths, const std::string& joined,
    const std::map<std::uint32_t, std::uint32_t>& files) {
  std::optional<FragmentWriter> writer;
  for (const auto& path : paths) {
    FragmentReader fragment{path};
    if (!writer) {
      writer.emplace(joined, fragment.columns());
    }
    while (const auto piece = fragment.next()) {
      for (auto entries : piece->entries) {
        const auto file = files.find(entries.file);
        entries.file = file == files.end() ? entries.file : file->second;
        writer->add_entries(entries);
      }
      const std::array all{EntryRun{0, piece->n_events()}};
      for (std::size_t i = 0; i < piece->columns.size(); ++i) {
        writer->add(i, piece->columns[i], all);
      }
      writer->end_of_step();
    }
  }
  const auto n_bytes = writer.value().close(FragmentWriter::Sync::no);
  return {n_bytes, writer->checksum()};
}

}  // namespace forkrun
