#include <forkrun/formats/rntuple/ntuple.hpp>

#include <algorithm>
#include <utility>

#include <forkrun/bytes/big_endian.hpp>
#include <forkrun/bytes/xxh3.hpp>
#include <forkrun/bytes/zip.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/root_file/input_file.hpp>

namespace forkrun::rntuple {

namespace {

/// A header, a footer or a page list in the file.
struct StoredEnvelope {
  Locator where;
  std::uint64_t n_unpacked{};
};

struct Anchor {
  StoredEnvelope header;
  StoredEnvelope footer;
};

/// It is big-endian, as objects of ROOT are: versions, then places and sizes, then a checksum.
Anchor parse_anchor(std::span<const std::byte> object) {
  constexpr std::size_t head_bytes = 6, n_bytes = 64, versions_bytes = 8;
  if (object.size() < head_bytes + n_bytes + sizeof(std::uint64_t)) {
    throw Error("its anchor is damaged: it is cut short");
  }
  const auto members = object.subspan(head_bytes, n_bytes);
  if (xxh3(members) != big_endian<std::uint64_t>(object.data() + head_bytes + n_bytes)) {
    throw Error("its anchor is damaged: its checksum is not that of its bytes");
  }
  constexpr std::uint16_t known_epoch = 1;
  if (const auto epoch = big_endian<std::uint16_t>(members.data()); epoch != known_epoch) {
    throw Error("its format is of version " + std::to_string(epoch) + ", only 1 is known");
  }
  const auto number = [&](std::size_t i) {
    return big_endian<std::uint64_t>(members.data() + versions_bytes + 8 * i);
  };
  return {{{number(0), number(1)}, number(2)}, {{number(3), number(4)}, number(5)}};
}

std::vector<std::byte> read_envelope(const StoredEnvelope& envelope,
                                     const root_io::InputFile& file) {
  const auto& [place, n_bytes] = envelope.where;
  const auto n_file_bytes = static_cast<std::uint64_t>(file.size());
  if (n_bytes > n_file_bytes || place > n_file_bytes - n_bytes) {
    throw Error("it is behind the end of the file, which is truncated");
  }
  if (n_bytes > envelope.n_unpacked) {
    throw Error("it has an impossible size");
  }
  std::vector<std::byte> stored(n_bytes);
  file.read(static_cast<std::int64_t>(place), stored);
  try {
    return restored(stored, envelope.n_unpacked);
  } catch (const Error&) {
    throw Error("it cannot be uncompressed");
  }
}

/// Calls `body` with the content and the checksum of an envelope. \throws Error naming it.
template <typename Body>
void with_envelope(const char* what, EnvelopeType type, const StoredEnvelope& envelope,
                   const root_io::InputFile& file, Body body) {
  try {
    const auto bytes = file.reading_again(range_of(envelope.where), [&] {
      auto read = read_envelope(envelope, file);
      static_cast<void>(envelope_content(read, type));  // its checksum
      return read;
    });
    body(envelope_content(bytes, type), checksum_of(bytes));
  } catch (const InputError&) {
    throw;
  } catch (const Error& error) {
    throw Error(std::string{"its "} + what + " cannot be read: " + error.what());
  }
}

void require_known_features(RecordCursor& from) {
  for (std::int64_t features = -1; features < 0;) {
    features = from.number<std::int64_t>();
    if (features != 0) {
      throw Error("it uses a feature that this version of forkrun does not know; update forkrun");
    }
  }
}

/// The page lists of the groups of clusters.
std::vector<StoredEnvelope> parse_footer(RecordCursor from, std::uint64_t header_checksum,
                                         Ntuple& ntuple) {
  require_known_features(from);
  if (from.number<std::uint64_t>() != header_checksum) {
    throw Error("it belongs to another header");
  }
  ntuple.schema.add(record_frame(from).content);
  auto groups = list_frame(from);
  std::vector<StoredEnvelope> lists;
  for (auto n = groups.n_items; n > 0; --n) {
    auto group = record_frame(groups.content).content;
    group.skip(2 * sizeof(std::uint64_t) + sizeof(std::uint32_t));  // entries; number of clusters
    const auto n_unpacked = group.number<std::uint64_t>();
    lists.push_back({locator(group), n_unpacked});
  }
  if (!from.is_at_end()) {  // of writers before there were any
    ntuple.n_attribute_sets = list_frame(from).n_items;
  }
  return lists;
}

/// Puts clusters in order. \throws Error unless each begins where the one before it ends.
std::uint64_t count_entries(std::vector<Cluster>& clusters, std::size_t n_columns) {
  std::ranges::stable_sort(clusters, {}, &Cluster::first_entry);
  std::uint64_t n_entries = 0;
  for (const auto& cluster : clusters) {
    if (cluster.first_entry != n_entries || cluster.columns.size() > n_columns) {
      throw Error("its page lists are damaged: clusters are missing, or there twice");
    }
    n_entries += cluster.n_entries;
  }
  if (n_entries > static_cast<std::uint64_t>(INT64_MAX)) {
    throw Error("its page lists are damaged: they have an impossible number of entries");
  }
  return n_entries;
}

}  // namespace

Ntuple open_ntuple(std::span<const std::byte> anchor, const root_io::InputFile& file) {
  const auto n_file_bytes = static_cast<std::uint64_t>(file.size());
  const auto places = parse_anchor(anchor);
  Ntuple ntuple;
  std::uint64_t header_checksum = 0;
  with_envelope("header", EnvelopeType::header, places.header, file,
                [&](RecordCursor from, std::uint64_t checksum) {
                  header_checksum = checksum;
                  require_known_features(from);
                  ntuple.name = from.text();
                  static_cast<void>(from.text());  // a description
                  static_cast<void>(from.text());  // the library that wrote it
                  ntuple.schema.add(from);
                });
  std::vector<StoredEnvelope> lists;
  with_envelope("footer", EnvelopeType::footer, places.footer, file,
                [&](RecordCursor from, std::uint64_t /*checksum*/) {
                  lists = parse_footer(from, header_checksum, ntuple);
                });
  for (const auto& list : lists) {
    with_envelope("page list", EnvelopeType::page_list, list, file,
                  [&](RecordCursor from, std::uint64_t /*checksum*/) {
                    add_clusters(from, header_checksum, n_file_bytes, ntuple.clusters);
                  });
  }
  ntuple.n_entries = count_entries(ntuple.clusters, ntuple.schema.columns.size());
  return ntuple;
}

}  // namespace forkrun::rntuple
