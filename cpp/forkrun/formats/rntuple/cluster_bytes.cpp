#include <forkrun/formats/rntuple/cluster_bytes.hpp>

#include <algorithm>
#include <cstddef>
#include <ranges>

#include <forkrun/formats/root_file/input_file.hpp>

namespace forkrun::rntuple {

void ClusterBytes::read(const Cluster& cluster, std::span<const Representations> columns,
                        const root_io::InputFile& file) {
  constexpr std::uint64_t most_bytes = 16U << 20U;
  std::uint64_t begin = UINT64_MAX, end = 0, n_wanted = 0;
  for (const auto number : columns | std::views::join) {
    if (number >= cluster.columns.size()) {
      continue;
    }
    for (const auto& page : cluster.columns[number].pages) {
      const auto n = page.where.n_bytes + (page.has_checksum ? checksum_bytes : 0);
      begin = std::min(begin, page.where.place);
      end = std::max(end, page.where.place + n);
      n_wanted += n;
    }
  }
  if (!file.is_local() || begin >= end || end - begin > 2 * n_wanted ||
      end - begin > most_bytes - n_bytes_) {
    return;
  }
  auto& part = parts_.emplace_back();
  part.place = static_cast<std::int64_t>(begin);
  file.read(part.place, part.bytes.resize(end - begin));
  n_bytes_ += end - begin;
}

std::optional<std::span<const std::byte>> ClusterBytes::find(const ByteRange& range) const {
  for (const auto& part : parts_) {
    const auto begin = range.place - part.place;
    if (begin >= 0 && begin + range.n_bytes <= std::ssize(part.bytes.view())) {
      return part.bytes.view().subspan(static_cast<std::size_t>(begin),
                                       static_cast<std::size_t>(range.n_bytes));
    }
  }
  return {};
}

void ClusterBytes::forget() {
  parts_.clear();
  n_bytes_ = 0;
}

}  // namespace forkrun::rntuple
