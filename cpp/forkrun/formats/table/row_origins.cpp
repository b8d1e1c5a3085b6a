#include <forkrun/formats/table/row_origins.hpp>

#include <algorithm>
#include <charconv>

#include <forkrun/core/data/errors.hpp>

namespace forkrun::root_io {

Origin Origin::of(const std::string& uuid, std::int64_t n_bytes) {
  constexpr std::size_t n_digits = 32;
  std::string digits;
  std::ranges::copy_if(uuid, std::back_inserter(digits), [](char c) { return c != '-'; });
  Origin origin{0, 0, n_bytes};
  const auto parse = [&](std::size_t from, std::uint64_t& into) {
    const auto* end = digits.data() + from + n_digits / 2;
    const auto [stop, error] = std::from_chars(digits.data() + from, end, into, 16);
    return error == std::errc{} && stop == end;
  };
  if (digits.size() != n_digits || !parse(0, origin.uuid_high) ||
      !parse(n_digits / 2, origin.uuid_low)) {
    throw InputError("its UUID \"" + uuid + "\" is not valid; the file may be damaged");
  }
  return origin;
}

TakenRows RowOrigins::take_carried(const std::string& file, const std::vector<OriginRows>& rows) {
  TakenRows taken;
  std::int64_t first = 0;
  for (const auto& part : rows) {
    const auto own = own_.find(part.origin);
    const auto [known, is_new] = carried_.emplace(part.origin, file);
    if (is_new && own == own_.end()) {
      taken.origins.push_back(part);
      taken.rows.push_back({first, first + part.n_rows});
    } else if (taken.other_file.empty()) {
      taken.other_file = own == own_.end() ? known->second : own->second;
    }
    first += part.n_rows;
  }
  return taken;
}

TakenRows RowOrigins::take_own(const std::string& file, const OriginRows& rows) {
  own_.emplace(rows.origin, file);
  if (const auto known = carried_.find(rows.origin); known != carried_.end()) {
    return {{}, {}, known->second};
  }
  return {{rows}, {{0, rows.n_rows}}, ""};
}

}  // namespace forkrun::root_io
