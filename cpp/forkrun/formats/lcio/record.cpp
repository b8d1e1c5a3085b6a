#include <forkrun/formats/lcio/record.hpp>

#include <algorithm>
#include <cctype>
#include <cstring>

#include <forkrun/bytes/inflate.hpp>
#include <forkrun/core/data/counted.hpp>
#include <forkrun/core/data/input_cost.hpp>

namespace forkrun::lcio {

namespace {

constexpr std::uint32_t largest_ratio_of_zlib = 1040;

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= most_name && std::ranges::all_of(name, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  });
}

std::string text_from(const std::byte* from, std::size_t n) {
  return {reinterpret_cast<const char*>(from), n};
}

/// Text for an impossible length: "…: it says …".
[[noreturn]] void throw_wrong_head(const std::string& what) {
  throw InputError("the head of the record is damaged: " + what);
}

/// A name with missing letters would make the record look irrelevant.
void check_name(const std::string& name, std::span<const std::byte> bytes) {
  const auto there = text_from(bytes.data() + least_head, padded(name.size()));
  for (const std::string known : {"LCRunHeader", "LCEventHeader", "LCEvent"}) {
    if (there.starts_with(known) && name.size() < known.size()) {
      throw_wrong_head("its name is \"" + name + "\" and not " + known);
    }
  }
}

void check_sizes(const RecordHead& head, std::int64_t n_file) {
  const auto last = head.data_place() + static_cast<std::int64_t>(head.n_stored);
  if (last > n_file) {
    throw InputError("the record " + head.name + " ends at byte " + std::to_string(last) +
                     ", but the file has " + std::to_string(n_file) + ": it is truncated");
  }
  if (!head.is_compressed() && head.n_stored != head.n_data) {
    throw_wrong_head("data that are not compressed have two lengths, " +
                     std::to_string(head.n_stored) + " and " + std::to_string(head.n_data));
  }
  if (head.n_data / largest_ratio_of_zlib > head.n_stored) {
    throw_wrong_head(counted(head.n_stored, "byte") + " cannot become " +
                     std::to_string(head.n_data));
  }
}

}  // namespace

std::int64_t RecordHead::end() const {
  const auto n = static_cast<std::int64_t>(n_stored);
  return data_place() + (is_compressed() ? static_cast<std::int64_t>(padded(n_stored)) : n);
}

RecordHead record_head(std::span<const std::byte> bytes, std::int64_t place, std::int64_t n_file) {
  if (bytes.size() < least_head) {
    throw InputError("the file ends within the head of a record: it is truncated");
  }
  Cursor from{bytes};
  RecordHead head{.place = place, .name = {}};
  head.n_head = from.word();
  if (from.word() != record_marker) {
    throw InputError("no record of LCIO begins here: its marker 0xABADCAFE is missing");
  }
  head.options = from.word();
  head.n_stored = from.word();
  head.n_data = from.word();
  const auto n_name = from.word();
  if (n_name > most_name || head.n_head != least_head + padded(n_name)) {
    throw_wrong_head("its length is " + std::to_string(head.n_head) + ", that of the name " +
                     std::to_string(n_name));
  }
  head.name = text_from(from.take(n_name), n_name);
  if (!is_name(head.name)) {
    throw_wrong_head("its name has other characters than letters, digits and _");
  }
  check_name(head.name, bytes);
  check_sizes(head, n_file);
  return head;
}

void restore(const RecordHead& head, std::span<const std::byte> stored, std::span<std::byte> into) {
  if (!head.is_compressed()) {
    std::ranges::copy(stored, into.begin());
    return;
  }
  const UnpackingNote note{stored.size(), into.size()};
  if (!inflate({stored, into})) {
    throw_not_inflated(head);
  }
}

void throw_not_inflated(const RecordHead& head) {
  throw InputError("the data of the record " + head.name + " cannot be inflated: they are damaged");
}

void for_each_block(std::span<const std::byte> data, const std::function<void(const Block&)>& use) {
  while (!data.empty()) {
    Cursor from{data};
    const auto n_block = from.word();
    if (from.word() != block_marker) {
      throw InputError("a block has no marker 0xDEADBEEF");
    }
    Block block;
    block.version = from.word();
    const auto n_name = from.word();
    const auto* name = reinterpret_cast<const char*>(from.take(padded(n_name)));
    block.name = {name, n_name};
    const auto n_head = data.size() - from.n_left();
    if (n_block < n_head || n_block > data.size()) {
      throw InputError("a block has a length of " + counted(n_block, "byte") + ", and " +
                       std::to_string(data.size()) + " are left of the record");
    }
    block.content = data.subspan(n_head, n_block - n_head);
    use(block);
    data = data.subspan(n_block);
  }
}

}  // namespace forkrun::lcio
