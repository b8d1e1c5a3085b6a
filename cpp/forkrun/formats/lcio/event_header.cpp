#include <forkrun/formats/lcio/event_header.hpp>

#include <algorithm>
#include <bit>

namespace forkrun::lcio {

namespace {

constexpr auto oldest = version_of(0, 8);

Parameter next_parameter(Cursor& from, ElementType type) {
  Parameter parameter{from.text(), type, {}, {}};
  if (type != ElementType::character) {
    const auto n = from.count(size_of(type)) * size_of(type);
    parameter.numbers = {from.take(n), n};
    return parameter;
  }
  const auto n = from.count();
  for (std::size_t i = 0; i < n; ++i) {
    parameter.texts.push_back(from.text());
  }
  return parameter;
}

/// The block of this name; the rest of the record is ignored.
Block only_block(std::span<const std::byte> data, std::string_view name) {
  Block found;
  for_each_block(data, [&](const Block& block) {
    if (block.name == name) {
      found = block;
    }
  });
  if (found.name.empty()) {
    throw InputError("the record has no block " + std::string{name});
  }
  if (found.version < oldest) {
    throw InputError("it was written by version " + std::to_string(found.version >> 16U) + "." +
                     std::to_string(found.version & 0xffffU) +
                     " of LCIO; files before version 0.8 are not read");
  }
  return found;
}

CollectionName next_collection(Cursor& from) {
  CollectionName found{from.text(), from.text(), false};
  if (found.type.ends_with(subset_postfix)) {
    found.type.remove_suffix(subset_postfix.size());
    found.is_subset = true;
  }
  return found;
}

}  // namespace

Parameters read_parameters(Cursor& from, std::uint32_t version) {
  Parameters found;
  if (version < version_of(1, 2)) {
    return found;
  }
  for (const auto type :
       {ElementType::int32, ElementType::float32, ElementType::float64, ElementType::character}) {
    if (type == ElementType::float64 && version < version_of(2, 17)) {
      continue;
    }
    const auto n = from.count(8);
    for (std::size_t i = 0; i < n; ++i) {
      found.push_back(next_parameter(from, type));
    }
  }
  return found;
}

const Parameter* find_parameter(const Parameters& among, std::string_view name, ElementType type) {
  const auto found = std::ranges::find_if(
      among, [&](const auto& each) { return each.type == type && each.name == name; });
  return found == among.end() ? nullptr : &*found;
}

double EventHeader::weight() const {
  const auto* found = find_parameter(parameters, "_weight", ElementType::float32);
  if (found == nullptr || found->numbers.empty()) {
    return 1;
  }
  const auto weight = std::bit_cast<float>(big_endian<std::uint32_t>(found->numbers.data()));
  return weight == 0 ? 1 : weight;
}

EventHeader event_header(std::span<const std::byte> data) {
  const auto block = only_block(data, "EventHeader");
  Cursor from{block.content};
  EventHeader header;
  header.run = from.next<std::int32_t>();
  header.event = from.next<std::int32_t>();
  header.time_stamp = from.next<std::int64_t>();
  header.detector = from.text();
  const auto n_collections = from.count(8);
  header.collections.reserve(n_collections);
  for (std::size_t i = 0; i < n_collections; ++i) {
    header.collections.push_back(next_collection(from));
  }
  header.parameters = read_parameters(from, block.version);
  return header;
}

RunHeader run_header(std::span<const std::byte> data) {
  const auto block = only_block(data, "RunHeader");
  Cursor from{block.content};
  RunHeader header;
  header.run = from.next<std::int32_t>();
  header.detector = from.text();
  header.description = from.text();
  const auto n = from.count();
  for (std::size_t i = 0; i < n; ++i) {
    header.subdetectors.push_back(from.text());
  }
  header.parameters = read_parameters(from, block.version);
  return header;
}

}  // namespace forkrun::lcio
