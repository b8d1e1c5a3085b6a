#include <forkrun/formats/ttree/layout/value_form.hpp>

#include <charconv>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

namespace forkrun::root_io {

namespace {

/// A number such as "-pi", "2*pi" or "0.5" in the range of packed numbers.
double number_in_range(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' '; };
  std::string plain{text};
  std::erase_if(plain, is_blank);
  for (const auto& [name, value] : {std::pair{"2pi", 2 * std::numbers::pi},
                                    {"2*pi", 2 * std::numbers::pi},
                                    {"twopi", 2 * std::numbers::pi},
                                    {"pi/2", std::numbers::pi / 2},
                                    {"pi/4", std::numbers::pi / 4},
                                    {"pi", std::numbers::pi}}) {
    if (plain.find(name) != std::string::npos) {
      return plain.starts_with('-') ? -value : value;
    }
  }
  double value = 0;
  std::from_chars(plain.data(), plain.data() + plain.size(), value);
  return value;
}

/// The first of the brackets in a title that has commas: "[0,10,8]"; those before may be sizes.
std::vector<std::string_view> range_in(std::string_view title) {
  for (auto begin = title.find('['); begin != std::string_view::npos;
       begin = title.find('[', begin + 1)) {
    const auto end = title.find(']', begin);
    if (end == std::string_view::npos) {
      break;
    }
    auto inner = title.substr(begin + 1, end - begin - 1);
    std::vector<std::string_view> parts;
    for (auto comma = inner.find(','); comma != std::string_view::npos; comma = inner.find(',')) {
      parts.push_back(inner.substr(0, comma));
      inner = inner.substr(comma + 1);
    }
    if (!parts.empty()) {
      parts.push_back(inner);
      return parts;
    }
  }
  return {};
}

}  // namespace

Packing packing_in(std::string_view title, bool is_float16) {
  constexpr int usual_bits = 32, half_bits = 12, most_of_mantissa = 15;
  Packing packing;
  packing.is_float = !is_float16;
  packing.n_bits = half_bits;
  const auto parts = range_in(title);
  if (parts.size() < 2) {
    return packing;
  }
  int n_bits = usual_bits;
  if (parts.size() > 2) {
    n_bits = static_cast<int>(number_in_range(parts[2]));
    n_bits = n_bits < 2 || n_bits > usual_bits ? usual_bits : n_bits;
  }
  const auto least = number_in_range(parts[0]), most = number_in_range(parts[1]);
  if (least < most) {
    const auto n_values = n_bits < usual_bits ? std::ldexp(1., n_bits) : 4294967295.;
    packing.least = least;
    packing.factor = n_values / (most - least);
  } else if (n_bits < most_of_mantissa) {
    packing.n_bits = n_bits;
    packing.is_float = false;
  }
  return packing;
}

std::size_t fixed_size(const ValueForm& form) {
  switch (form.kind) {
    case ValueForm::Kind::number: return form.n_items() * size_of(form.element);
    case ValueForm::Kind::packed: return form.n_items() * form.packing.n_bytes();
    default: return 0;
  }
}

std::optional<FixedPlace> fixed_place(const EntryForm& form) {
  const auto& object = *form.value;
  if (form.is_of_many || object.kind != ValueForm::Kind::object || object.has_header) {
    return {};
  }
  FixedPlace place;
  for (std::size_t number = 0; number < object.within.size(); ++number) {
    const auto n_bytes = fixed_size(object.within[number]);
    const bool is_wanted = number == form.path.front();
    if (n_bytes == 0 || (is_wanted && object.within[number].kind != ValueForm::Kind::number)) {
      return {};
    }
    if (is_wanted) {
      place.offset = place.n_entry_bytes;
      place.n_bytes = n_bytes;
    }
    place.n_entry_bytes += n_bytes;
  }
  return place;
}

}  // namespace forkrun::root_io
