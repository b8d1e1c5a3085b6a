#include <forkrun/formats/lcio/record_writer.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <limits>
#include <ranges>
#include <tuple>

#include <fcntl.h>
#include <unistd.h>

#include <forkrun/bytes/local_file.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/lcio/file_index.hpp>
#include <forkrun/formats/lcio/written.hpp>

namespace forkrun::lcio {

namespace {

constexpr std::int64_t chunk = 8 << 20;
constexpr std::int32_t of_run = -1;  ///< instead of an event number: a run header

std::vector<std::byte> stored(const EventFile& file, std::int64_t place, std::int64_t end) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(end - place));
  ReadAccount account;
  file.read(place, bytes, account);
  return bytes;
}

}  // namespace

std::vector<InputRecords::Header> header_records(const EventFile& file) {
  std::vector<InputRecords::Header> headers;
  for (const auto& run : file.runs()) {
    headers.emplace_back(run.header.run, stored(file, run.head.place, run.head.end()));
  }
  return headers;
}

InputRecords::InputRecords(std::shared_ptr<const EventFile> file) : file_{std::move(file)} {
  auto index = index_file(*file_, 0);
  ids_ = std::move(index.events);
  for (const auto& column : index.columns) {
    const auto point = column.name.find('.');
    if (point == std::string::npos) {
      continue;
    }
    const auto first = column.name.substr(0, point);
    if (first == "parameters") {
      parameters_.insert(column.name.substr(point + 1));
    } else if (first != "RunHeader") {
      collections_.insert(first);
    }
  }
  headers_ = header_records(*file_);
  find_headers();
}

void InputRecords::find_headers() {
  std::map<std::uint32_t, std::vector<std::size_t>> of_runs;
  for (std::size_t i = 0; i < headers_.size(); ++i) {
    of_runs[static_cast<std::uint32_t>(headers_[i].first)].push_back(i);
  }
  for (std::int64_t entry = 0; entry < n_events(); ++entry) {
    const auto own = of_runs.find(id(entry).run);
    if (own == of_runs.end()) {
      header_of_.push_back(nullptr);
      continue;
    }
    const auto after = std::ranges::partition_point(own->second, [&](auto number) {
      return file_->runs()[number].head.place < event(entry).place;
    });
    header_of_.push_back(&headers_[after == own->second.begin() ? *after : *std::prev(after)]);
  }
}

EventDigest InputRecords::digest() const {
  EventDigest digest;
  for (const auto& id : ids_) {
    digest.add({id.run, 1, id.event});
  }
  return digest;
}

RecordWriter::RecordWriter(const std::string& path) : path_{path} {
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) {
    throw OutputError(path_ + ": cannot be written: " + std::strerror(errno));
  }
}

RecordWriter::RecordWriter(const std::string& path, const InputRecords& of) : path_{path} {
  for (std::int64_t entry = 0; entry < of.n_events(); ++entry) {
    n_bytes_ = std::max(n_bytes_, of.event(entry).end);
    note_event(of.id(entry), of.event(entry).place);
  }
  for (const auto& run : of.file().runs()) {
    n_bytes_ = std::max(n_bytes_, run.head.end());
    runs_[run.header.run] = run.head.place;
  }
  written_.insert(of.headers().begin(), of.headers().end());
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor_ < 0 || ::ftruncate(descriptor_, n_bytes_) != 0) {
    throw OutputError(path_ + ": cannot be written: " + std::strerror(errno));
  }
}

RecordWriter::~RecordWriter() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

void RecordWriter::add_run(const InputRecords::Header& header) {
  const auto& [run, record] = header;
  if (const auto before = last_.find(run); before != last_.end() && before->second == record) {
    return;
  }
  last_[run] = record;
  runs_[run] = n_bytes_;
  written_.insert(header);
  write(record);
}

void RecordWriter::add_header(const InputRecords::Header& header) {
  if (written_.insert(header).second) {
    runs_.try_emplace(header.first, n_bytes_);
    write(header.second);
  }
}

void RecordWriter::note_event(const EventId& id, std::int64_t place) {
  events_.push_back(
      {static_cast<std::int32_t>(id.run), static_cast<std::int32_t>(id.event), place});
}

void RecordWriter::add_event(std::int32_t run, std::int32_t event,
                             std::span<const std::byte> records) {
  events_.push_back({run, event, n_bytes_});
  write(records);
}

void RecordWriter::add_event_of(const InputRecords& from, std::int64_t entry,
                                std::span<const std::byte> records) {
  if (const auto* header = from.header_of(entry)) {
    add_run(*header);
  }
  note_event(from.id(entry), n_bytes_);
  write(records);
}

void RecordWriter::copy(const InputRecords& from, std::int64_t first, std::int64_t last) {
  while (first < last) {
    const auto begin = first;
    const auto place = from.event(begin).place;
    const auto* header = from.header_of(begin);
    if (header != nullptr) {
      add_run(*header);
    }
    do {
      note_event(from.id(first), n_bytes_ + from.event(first).place - place);
      ++first;
    } while (first < last && from.header_of(first) == header &&
             from.event(first).place == from.event(first - 1).end);
    const auto end = from.event(first - 1).end;
    for (auto at = place; at < end; at += chunk) {
      write(stored(from.file(), at, std::min(at + chunk, end)));
    }
  }
}

void RecordWriter::write(std::span<const std::byte> bytes) {
  pending_.insert(pending_.end(), bytes.begin(), bytes.end());
  n_bytes_ += std::ssize(bytes);
  if (std::ssize(pending_) >= chunk) {
    flush();
  }
}

void RecordWriter::flush() {
  if (!write_at(descriptor_, n_bytes_ - std::ssize(pending_), pending_)) {
    throw OutputError(path_ + ": cannot be written: " + std::strerror(errno));
  }
  pending_.clear();
}

void RecordWriter::close() {
  write_index();
  flush();
  if (::close(std::exchange(descriptor_, -1)) != 0) {
    throw OutputError(path_ + ": cannot be written: " + std::strerror(errno));
  }
}

/// Index by which LCIO finds events: run headers, then events, each by number; offsets count from
/// the first record.
void RecordWriter::write_index() {
  constexpr std::uint32_t has_one_run = 1, has_long_offsets = 2;
  std::vector<Key> keys;
  std::ranges::transform(runs_, std::back_inserter(keys),
                         [](const auto& run) -> Key { return {run.first, of_run, run.second}; });
  std::ranges::stable_sort(events_, {},
                           [](const Key& key) { return std::tuple{key.run, key.event}; });
  keys.insert(keys.end(), events_.begin(), events_.end());
  const auto [least, most] = keys.empty()
                                 ? std::ranges::minmax_result<std::int32_t>{}
                                 : std::ranges::minmax(keys | std::views::transform(&Key::run));
  const auto [base, last] = keys.empty()
                                ? std::ranges::minmax_result<std::int64_t>{}
                                : std::ranges::minmax(keys | std::views::transform(&Key::place));
  const bool has_one = least == most;
  const bool is_long = last - base > std::numeric_limits<std::int32_t>::max();
  Written content;
  content.add((has_one ? has_one_run : 0) | (is_long ? has_long_offsets : 0));
  content.add(least).add(base).count(keys.size());
  for (const auto& [run, event, place] : keys) {
    if (!has_one) {
      content.add(run - least);
    }
    content.add(event);
    is_long ? content.add(place - base) : content.add(static_cast<std::int32_t>(place - base));
  }
  const auto index = n_bytes_;
  const auto block = Written{}.block("LCIOIndex", written_version, content.view()).take();
  write(Written{}.record("LCIOIndex", block, block.size(), false).view());
  write_access(keys, index);
}

/// Indexes of the written part, and of the file.
void RecordWriter::write_access(const std::vector<Key>& keys, std::int64_t index) {
  constexpr std::uint32_t marker = 0xABCD0000 | 136U;
  constexpr std::int32_t is_in_order = 1;
  const Key first = keys.empty() ? Key{} : keys.front(), last = keys.empty() ? Key{} : keys.back();
  const auto part = n_bytes_;
  const auto add = [&](std::int64_t of_index, std::int64_t previous, std::int64_t next,
                       std::int64_t of_first) {
    Written content;
    content.add(first.run).add(first.event).add(last.run).add(last.event);
    content.count(runs_.size()).count(events_.size()).add(is_in_order);
    content.add(of_index).add(previous).add(next).add(of_first).add(marker);
    const auto block = Written{}.block("LCIORandomAccess", written_version, content.view()).take();
    write(Written{}.record("LCIORandomAccess", block, block.size(), false).view());
  };
  add(index, 0, 0, part);
  add(0, part, part, 0);
}

EventDigest join_files(const std::vector<std::string>& inputs, const std::string& output,
                       bool verifies, bool has_all_runs) {
  EventDigest digest;
  RecordWriter writer{output};
  for (const auto& path : inputs) {
    const InputRecords records{std::make_shared<const EventFile>(path)};
    std::set<const InputRecords::Header*> used;
    for (std::int64_t entry = 0; entry < records.n_events(); ++entry) {
      used.insert(records.header_of(entry));
      if (verifies) {
        records.file().check_event(static_cast<std::size_t>(entry));
      }
    }
    std::int64_t first = 0;
    for (std::size_t i = 0; has_all_runs && i < records.headers().size(); ++i) {
      if (used.contains(&records.headers()[i])) {
        continue;
      }
      auto last = first;
      while (last < records.n_events() &&
             records.event(last).place < records.file().runs()[i].head.place) {
        ++last;
      }
      writer.copy(records, first, last);
      writer.add_header(records.headers()[i]);
      first = last;
    }
    writer.copy(records, first, records.n_events());
    digest += records.digest();
  }
  if (digest.count() == 0) {  // so that it is a valid LCIO file
    for (const auto& header : header_records(EventFile{inputs.front()})) {
      writer.add_header(header);
    }
  }
  writer.close();
  return digest;
}

void carry_headers(const std::vector<std::string>& inputs, const std::string& output,
                   const std::vector<std::int64_t>& n_bytes) {
  std::vector<InputRecords::Header> wanted;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const EventFile file{inputs[i]};
    if (i < n_bytes.size() && n_bytes[i] != 0 && n_bytes[i] != file.n_bytes()) {
      throw InputError(inputs[i] +
                       ": changed since it was indexed: its size is another; start the job again "
                       "with files that stay as they are");
    }
    std::ranges::move(header_records(file), std::back_inserter(wanted));
  }
  const auto own = std::make_shared<const EventFile>(output);
  const auto known = header_records(*own);
  std::erase_if(wanted, [&](const auto& header) { return std::ranges::count(known, header) > 0; });
  if (wanted.empty()) {
    return;
  }
  RecordWriter writer{output, InputRecords{own}};
  for (const auto& header : wanted) {
    writer.add_header(header);
  }
  writer.close();
}

}  // namespace forkrun::lcio
