#include <forkrun/formats/rntuple/ntuple.hpp>

#include <algorithm>
#include <utility>

#include <forkrun/bytes/big_endian.hpp>
#include <forkrun/bytes/xxh3.hpp>
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

std::vector<std::byte> stored_bytes(const Locator& where, const root_io::InputFile& file) {
  const auto n_file_bytes = static_cast<std::uint64_t>(file.size());
  if (where.n_bytes > n_file_bytes || where.place > n_file_bytes - where.n_bytes) {
    throw Error("it is behind the end of the file, which is truncated");
  }
  std::vector<std::byte> stored(where.n_bytes);
  file.read(static_cast<std::int64_t>(where.place), stored);
  return stored;
}

/// Calls `body` with the content of an envelope. \throws Error naming it.
template <typename Body>
void with_envelope(const char* what, EnvelopeType type, const StoredEnvelope& envelope,
                   const root_io::InputFile& file, Body body) {
  naming_part(what, [&] {
    const auto bytes = file.reading_again(range_of(envelope.where), [&] {
      auto read = unpacked_envelope(stored_bytes(envelope.where, file), envelope.n_unpacked);
      static_cast<void>(envelope_content(read, type));  // its checksum
      return read;
    });
    body(envelope_content(bytes, type));
  });
}

struct Footer {
  std::uint64_t header_checksum{};
  std::vector<std::byte> extension;  ///< of the header
  std::vector<StoredEnvelope> page_lists;
  std::size_t n_attribute_sets{};
};

Footer parse_footer(RecordCursor from) {
  require_known_features(from);
  Footer footer;
  footer.header_checksum = from.number<std::uint64_t>();
  const auto extension = record_frame(from).content.rest();
  footer.extension.assign(extension.begin(), extension.end());
  auto groups = list_frame(from);
  for (auto n = groups.n_items; n > 0; --n) {
    auto group = record_frame(groups.content).content;
    group.skip(2 * sizeof(std::uint64_t) + sizeof(std::uint32_t));  // entries; number of clusters
    const auto n_unpacked = group.number<std::uint64_t>();
    footer.page_lists.push_back({locator(group), n_unpacked});
  }
  if (!from.is_at_end()) {  // of writers before there were any
    footer.n_attribute_sets = list_frame(from).n_items;
  }
  return footer;
}

std::shared_ptr<const Description> describe(const StoredEnvelope& header,
                                            const std::vector<std::byte>& extension,
                                            const root_io::InputFile& file) {
  return file.reading_again(range_of(header.where), [&] {
    DescriptionRecord record{{}, header.n_unpacked, extension};
    naming_part("header", [&] { record.header = stored_bytes(header.where, file); });
    return description_of(std::move(record));
  });
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
  Footer footer;
  with_envelope("footer", EnvelopeType::footer, places.footer, file,
                [&](RecordCursor from) { footer = parse_footer(from); });
  Ntuple ntuple{.description = describe(places.header, footer.extension, file),
                .n_attribute_sets = footer.n_attribute_sets};
  const auto header_checksum = ntuple.description->header_checksum;
  if (footer.header_checksum != header_checksum) {
    throw Error("its footer cannot be read: it belongs to another header");
  }
  for (const auto& list : footer.page_lists) {
    with_envelope("page list", EnvelopeType::page_list, list, file, [&](RecordCursor from) {
      add_clusters(from, header_checksum, n_file_bytes, ntuple.clusters);
    });
  }
  ntuple.n_entries = count_entries(ntuple.clusters, ntuple.schema().columns.size());
  return ntuple;
}

}  // namespace forkrun::rntuple
