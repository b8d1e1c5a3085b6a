#include <forkrun/formats/ttree/read/form_values.hpp>

#include <algorithm>
#include <bit>
#include <cstring>

#include <forkrun/bytes/big_endian.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/ttree/layout/value_form.hpp>

namespace forkrun::root_io {

namespace {

using Kind = ValueForm::Kind;
constexpr std::uint32_t counts_bytes = 0x40000000;
constexpr std::uint32_t by_members = 0x4000;  ///< of a version: all of one member, then of the next

/// Sign, exponent, and as many bits of the mantissa.
float truncated_float(const std::byte* from, int n_bits) {
  constexpr int mantissa_bits = 23;
  const auto exponent = std::to_integer<std::uint32_t>(from[0]);
  const std::uint32_t mantissa = big_endian<std::uint16_t>(from + 1);
  const auto bits = static_cast<unsigned>(n_bits) + 1;
  auto value = exponent << static_cast<unsigned>(mantissa_bits);
  value |= (mantissa & ((1U << bits) - 1)) << (static_cast<unsigned>(mantissa_bits - n_bits));
  const auto number = std::bit_cast<float>(value);
  return (mantissa & (1U << bits)) != 0 ? -number : number;
}

double unpacked(const std::byte* from, const Packing& packing) {
  if (packing.factor != 0) {
    return big_endian<std::uint32_t>(from) / packing.factor + packing.least;
  }
  return packing.is_float
             ? static_cast<double>(std::bit_cast<float>(big_endian<std::uint32_t>(from)))
             : static_cast<double>(truncated_float(from, packing.n_bits));
}

template <typename T>
void put_unpacked(std::byte* to, const std::byte* from, std::size_t n, const Packing& packing) {
  for (std::size_t i = 0; i < n; ++i) {
    const auto value = static_cast<T>(unpacked(from + i * packing.n_bytes(), packing));
    std::memcpy(to + i * sizeof(T), &value, sizeof(T));
  }
}

}  // namespace

void FormValues::begin(const EntryForm& form, ColumnType type, std::size_t n_events) {
  form_ = &form;
  type_ = type;
  for (auto& ends : ends_) {
    ends.clear();
  }
  ends_[0].reserve(n_events);
  values_.clear();
}

void FormValues::add(std::span<const std::byte> entry) {
  rest_ = entry;
  if (form_->is_of_many) {
    read_many(*form_->value);
  } else {
    read(*form_->value, 0, 0);
  }
  if (!rest_.empty()) {
    throw Error("bytes are left after the last value of an entry");
  }
}

void FormValues::read_many(const ValueForm& form) {
  if (form_->shares_header && !rest_.empty()) {
    end_at(take_header());
  }
  while (!rest_.empty()) {
    read(form, 0, 1);
  }
  close(0);
}

std::span<const std::byte> FormValues::take(std::size_t n_bytes) {
  if (n_bytes > rest_.size()) {
    throw Error("a value is longer than its entry");
  }
  const auto taken = rest_.first(n_bytes);
  rest_ = rest_.subspan(n_bytes);
  return taken;
}

std::uint32_t FormValues::take_count() {
  return big_endian<std::uint32_t>(take(sizeof(std::uint32_t)).data());
}

/// It begins with its length: a byte, or 255 and four bytes.
std::span<const std::byte> FormValues::take_text() {
  constexpr std::size_t is_long = 255;
  const auto length = std::to_integer<std::size_t>(take(1)[0]);
  return take(length == is_long ? take_count() : length);
}

/// `rest_` is then the object alone.
FormValues::Header FormValues::take_header() {
  const auto n_bytes = take_count();
  const auto n = n_bytes & ~counts_bytes;
  if ((n_bytes & counts_bytes) == 0 || n > rest_.size() || n < sizeof(std::uint16_t)) {
    throw Error("an object has another number of bytes than it says");
  }
  Header header{rest_.subspan(n)};
  rest_ = rest_.first(n);
  header.version = big_endian<std::uint16_t>(take(sizeof(std::uint16_t)).data());
  return header;
}

/// Continues after the header's object, as well.
void FormValues::end_at(const Header& header) {
  rest_ = {rest_.data(), rest_.size() + header.rest.size()};
}

void FormValues::check_version(const ValueForm& form, const Header& header) {
  const auto version = static_cast<std::int32_t>(header.version);
  if (version == 0 && take_count() == form.checksum) {
    return;
  }
  if (version == 0 || version != form.version) {
    throw Error("an object of class " + form.type + " is of another version than version " +
                std::to_string(form.version) + ", which the file describes; ROOT has to read it");
  }
}

void FormValues::skip(const ValueForm& form) {
  constexpr std::uint32_t is_referenced = 1U << 4U, new_class = 0xffffffff;
  switch (form.kind) {
    case Kind::none:
      if (form.has_header) {
        return skip_object(form);
      }
      throw Error("an object has a member of class " + form.type);
    case Kind::number:
    case Kind::packed: take(fixed_size(form)); return;
    case Kind::bits: take((take_count() & is_referenced) != 0 ? sizeof(std::uint16_t) : 0); return;
    case Kind::text:
      if (form.has_header) {
        return skip_object(form);
      }
      if (!form.may_lack_length || !rest_.empty()) {
        take_text();
      }
      return;
    case Kind::list: return skip_list(form);
    case Kind::object: return skip_object(form);
    case Kind::array:
      if (form.has_header) {
        return skip_object(form);
      }
      for (std::size_t i = form.n_items(); i > 0; --i) {
        skip(form.within.front());
      }
      return;
    case Kind::pointer: {
      const auto n_bytes = take_count();
      if (n_bytes == new_class) {
        throw Error("an object at a pointer does not say how long it is");
      }
      take((n_bytes & counts_bytes) != 0 ? n_bytes & ~counts_bytes : 0);
    }
  }
}

void FormValues::skip_object(const ValueForm& form) {
  if (form.has_header) {
    const auto header = take_header();
    rest_ = header.rest;
    return;
  }
  for (const auto& member : form.within) {
    skip(member);
  }
}

void FormValues::skip_list(const ValueForm& form) {
  if (form.has_header) {
    return skip_object(form);
  }
  const auto n = take_count();
  take(form.n_between);
  const auto& item = form.within.front();
  if (item.kind == Kind::number) {
    take(static_cast<std::size_t>(n) * item.n_items() * size_of(item.element));
    return;
  }
  for (std::uint32_t i = 0; i < n; ++i) {
    skip(item);
  }
}

void FormValues::read(const ValueForm& form, std::size_t depth, std::size_t level) {
  switch (form.kind) {
    case Kind::none:
    case Kind::pointer: return skip(form);
    case Kind::number: return read_numbers(form, 1);
    case Kind::packed: return read_packed(form);
    case Kind::bits: {
      const auto before = rest_;
      skip(form);
      std::ranges::copy(before.first(sizeof(std::uint32_t)), values_.extend(sizeof(std::uint32_t)));
      auto* const last = values_.view().data() + values_.size() - sizeof(std::uint32_t);
      std::reverse(last, last + sizeof(std::uint32_t));
      return;
    }
    case Kind::text: return read_text(form, level);
    case Kind::list: return read_list(form, depth, level);
    case Kind::object: return read_object(form, depth, level);
    case Kind::array:
      for (std::size_t i = form.n_items(); i > 0; --i) {
        read(form.within.front(), depth, level);
      }
  }
}

void FormValues::read_numbers(const ValueForm& form, std::size_t n) {
  const auto size = size_of(form.element);
  const auto bytes = take(n * form.n_items() * size);
  swap_copy(values_.extend(bytes.size()), bytes.data(), bytes.size() / size, size);
}

void FormValues::read_packed(const ValueForm& form) {
  const auto n = form.n_items();
  const auto bytes = take(n * form.packing.n_bytes());
  auto* const to = values_.extend(n * size_of(form.element));
  if (form.element == ElementType::float32) {
    put_unpacked<float>(to, bytes.data(), n, form.packing);
  } else {
    put_unpacked<double>(to, bytes.data(), n, form.packing);
  }
}

void FormValues::read_text(const ValueForm& form, std::size_t level) {
  if (form.has_header) {
    end_at(take_header());
  }
  if (form.may_lack_length && rest_.empty()) {
    return close(level);
  }
  read_characters(level);
}

void FormValues::read_characters(std::size_t level) {
  const auto text = take_text();
  std::ranges::copy(text, values_.extend(text.size()));
  close(level);
}

void FormValues::read_items(const ValueForm& form, std::size_t depth, std::size_t level) {
  const auto n = take_count();
  take(form.n_between);
  const auto& item = form.within.front();
  if (item.kind == Kind::number) {
    read_numbers(item, n);
    return close(level);
  }
  for (std::uint32_t i = 0; i < n; ++i) {
    read(item, depth, level + 1);
  }
  close(level);
}

void FormValues::read_list(const ValueForm& form, std::size_t depth, std::size_t level) {
  if (!form.has_header) {
    return read_items(form, depth, level);
  }
  const auto header = take_header();
  if ((header.version & by_members) == 0) {
    read_items(form, depth, level);
  } else {
    const auto& item = form.within.front();
    const auto version = big_endian<std::uint16_t>(take(sizeof(std::uint16_t)).data());
    check_version(item, {{}, version});
    read_members(item, depth, level + 1, take_count());
    close(level);
  }
  if (!rest_.empty()) {
    throw Error("bytes are left after the last value of a list");
  }
  rest_ = header.rest;
}

/// All of one member, then of the next.
void FormValues::read_members(const ValueForm& form, std::size_t depth, std::size_t level,
                              std::uint32_t n_items) {
  if (form.kind != Kind::object || n_items == 0) {
    rest_ = {};
    return;
  }
  const auto wanted = form_->path.at(depth);
  for (std::size_t number = 0; number <= wanted; ++number) {
    const auto& member = form.within[number];
    if (member.name.empty()) {
      throw Error("objects of class " + form.type +
                  " are stored member by member, and those of its base lie in a way that cannot "
                  "be read yet");
    }
    if (member.has_header && member.kind != Kind::object) {
      read_with_one_header(member, number == wanted ? n_items : 0, depth + 1, level);
      continue;
    }
    for (std::uint32_t i = 0; i < n_items; ++i) {
      number == wanted ? read(member, depth + 1, level) : skip(member);
    }
  }
  rest_ = {};
}

/// Lists or texts of `n_items` objects; of none if they are passed over.
void FormValues::read_with_one_header(const ValueForm& form, std::uint32_t n_items,
                                      std::size_t depth, std::size_t level) {
  const auto header = take_header();
  const bool is_list = form.kind == Kind::list && (header.version & by_members) == 0;
  if (n_items > 0 && !is_list && form.kind != Kind::text) {
    throw Error("objects are stored member by member, of which " + form.name +
                " lies in a way that cannot be read yet");
  }
  for (std::uint32_t i = 0; i < n_items; ++i) {
    is_list ? read_items(form, depth, level) : read_characters(level);
  }
  rest_ = header.rest;
}

void FormValues::read_object(const ValueForm& form, std::size_t depth, std::size_t level) {
  const auto header = form.has_header ? take_header() : Header{};
  if (form.has_header && !form.type.empty()) {
    check_version(form, header);
  }
  const auto wanted = form_->path.at(depth);
  for (std::size_t number = 0; number < wanted; ++number) {
    skip(form.within[number]);
  }
  read(form.within[wanted], depth + 1, level);
  if (form.has_header) {
    rest_ = header.rest;
    return;
  }
  for (auto number = wanted + 1; number < form.within.size(); ++number) {
    const auto& member = form.within[number];
    if (depth == 0 && !form_->is_of_many && member.kind == Kind::none && !member.has_header) {
      rest_ = {};  // of the entry: nobody knows where this member ends
      return;
    }
    skip(member);
  }
}

/// Ends a complete list.
void FormValues::close(std::size_t level) {
  const bool is_innermost = level + 1 == type_.n_levels();
  const auto n_values = values_.size() / size_of(type_.element) / type_.n_in_item();
  ends_.at(level).push_back(
      static_cast<std::int64_t>(is_innermost ? n_values : ends_.at(level + 1).size()));
}

void FormValues::fill(Column& into) const {
  into.reset(type_);
  for (std::size_t level = 0; level < type_.n_levels(); ++level) {
    const auto offsets = into.resize_offsets(ends_.at(level).size(), level);
    offsets[0] = 0;
    std::ranges::copy(ends_.at(level), offsets.begin() + 1);
  }
  std::ranges::copy(values_.view(), into.resize_values(values_.size() / size_of(type_.element)));
}

bool is_of_form(std::span<const std::byte> entry, const EntryForm& form, ColumnType type) {
  FormValues values;
  values.begin(form, type, 1);
  try {
    values.add(entry);
  } catch (const Error&) {
    return false;
  }
  return true;
}

}  // namespace forkrun::root_io
