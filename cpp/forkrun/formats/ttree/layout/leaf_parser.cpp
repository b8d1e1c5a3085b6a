#include <forkrun/formats/ttree/layout/leaf_parser.hpp>

#include <forkrun/bytes/big_endian.hpp>

namespace forkrun::root_io {

namespace {

constexpr int most_counters = 100;

template <typename T>
LeafRange range_in(std::span<const std::byte> bytes) {
  ObjectStream::require(bytes.size() == 2 * sizeof(T));
  return {big_endian<T>(bytes.data()), big_endian<T>(&bytes[sizeof(T)])};
}

std::optional<LeafRange> range_of(std::string_view type, std::span<const std::byte> bytes) {
  if (type == "TLeafI") {
    return range_in<std::int32_t>(bytes);
  }
  if (type == "TLeafS") {
    return range_in<std::int16_t>(bytes);
  }
  if (type == "TLeafB" || type == "TLeafO") {
    return range_in<std::int8_t>(bytes);
  }
  if (type == "TLeafL" || type == "TLeafG") {
    return range_in<std::int64_t>(bytes);
  }
  return {};
}

}  // namespace

NamedRecord parse_named(ObjectStream& from, StructureText& structure) {
  const auto object = from.object();
  from.skip_base();
  NamedRecord named{from.text(), from.text()};
  structure.add(named.name);
  structure.add(named.title);
  from.seek(object.end);
  return named;
}

std::size_t LeafParser::next() {
  const auto pointer = from_.pointer();
  if (pointer.type.empty()) {
    add_known(pointer.number);
  } else {
    read(pointer);
  }
  return pointer.number;
}

void LeafParser::add_known(std::size_t number) {
  const auto leaf = leaves_.find(number);
  ObjectStream::require(leaf != leaves_.end());
  structure_.add(leaf->second.name);
}

void LeafParser::read(const ObjectStream::Pointer& pointer) {
  structure_.add(pointer.type);
  const auto object = from_.object();
  const auto base = from_.object();
  const auto [name, title] = parse_named(from_, structure_);
  LeafRecord leaf{name, {}, {pointer.type, title}};
  leaf.version = object.version;
  leaf.form.n_values = from_.number<std::int32_t>();
  leaf.value_size = from_.number<std::int32_t>();
  leaf.offset = from_.number<std::int32_t>();
  ObjectStream::require(is_possible(leaf.form.type, leaf.value_size, leaf.offset));
  leaf.counts_others = from_.number<std::uint8_t>() != 0;
  leaf.form.is_unsigned = from_.number<std::uint8_t>() != 0;
  const auto n_values = leaf.form.type == text_leaf ? 1 : leaf.form.n_values;
  for (const int number :
       {n_values, leaf.value_size, leaf.offset, static_cast<int>(leaf.counts_others)}) {
    structure_.add_number(number);
  }
  structure_.add(leaf.form.is_unsigned ? "unsigned" : "");
  leaf.counter = counter();
  leaf.form.is_counted = leaf.counter != 0;
  ObjectStream::require(from_.at() == base.end);
  limits(leaf, object.end - from_.at());
  ObjectStream::require(from_.at() == object.end && from_.at() == pointer.end);
  leaves_[pointer.number] = leaf;
}

/// Number of the leaf that counts; 0: none.
std::size_t LeafParser::counter() {
  const auto pointer = from_.pointer();
  if (!pointer.type.empty()) {
    ObjectStream::require(++depth_of_counters_ < most_counters);
    read(pointer);
    --depth_of_counters_;
  } else if (pointer.number == 0) {
    structure_.add("");
  } else {
    add_known(pointer.number);
  }
  return pointer.number;
}

void LeafParser::limits(LeafRecord& leaf, std::size_t n_bytes) {
  const auto bytes = from_.take(n_bytes);
  leaf.range = range_of(leaf.form.type, bytes);
  if (leaf.form.type == text_leaf) {
    leaf.range = {0, leaf.form.n_values};
    leaf.limits = bytes;
  } else if (!leaf.range) {
    leaf.limits = bytes;
    structure_.add(bytes);
  }
}

}  // namespace forkrun::root_io
