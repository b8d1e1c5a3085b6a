#include <forkrun/formats/rntuple/ntuple.hpp>

#include <algorithm>
#include <list>
#include <mutex>
#include <utility>

#include <forkrun/bytes/big_endian.hpp>
#include <forkrun/bytes/xxh3.hpp>
#include <forkrun/bytes/zip.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/root_file/input_file.hpp>

namespace forkrun::rntuple {

namespace {

Cluster parse_summary(RecordCursor from) {
  constexpr std::uint64_t flag_shift = 56;
  Cluster cluster;
  cluster.first_entry = from.number<std::uint64_t>();
  const auto told = from.number<std::uint64_t>();
  cluster.n_entries = told & ((std::uint64_t{1} << flag_shift) - 1);
  if (told >> flag_shift != 0) {
    throw Error("a cluster has a flag that this version of forkrun does not know; update forkrun");
  }
  return cluster;
}

Page parse_page(RecordCursor& from, std::uint64_t n_file_bytes) {
  const std::int64_t told = from.number<std::int32_t>();
  const bool has_checksum = told < 0;
  const Page page{static_cast<std::uint32_t>(has_checksum ? -told : told), has_checksum,
                  locator(from)};
  const auto n_bytes = page.where.n_bytes + (has_checksum ? checksum_bytes : 0);
  if (n_bytes < page.where.n_bytes || n_bytes > n_file_bytes ||
      page.where.place > n_file_bytes - n_bytes) {
    throw Error("a page is after the end of the file, which is truncated");
  }
  return page;
}

/// Adds its pages to those before.
PagesOfColumn parse_pages(Frame list, std::uint64_t n_file_bytes, std::vector<Page>& pages) {
  PagesOfColumn column;
  for (auto n = list.n_items; n > 0; --n) {
    pages.push_back(parse_page(list.content, n_file_bytes));
    column.n_values += pages.back().n_values;
  }
  column.is_suppressed = list.content.number<std::int64_t>() < 0;  // else its first value's number
  if (!column.is_suppressed) {
    column.compression = list.content.number<std::uint32_t>();
  }
  return column;
}

void parse_columns(Frame columns, std::uint64_t n_file_bytes, Cluster& cluster) {
  std::vector<std::size_t> ends;  // pages of a column may still move
  for (auto n = columns.n_items; n > 0; --n) {
    cluster.columns.push_back(
        parse_pages(list_frame(columns.content), n_file_bytes, cluster.pages));
    ends.push_back(cluster.pages.size());
  }
  std::size_t begin = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    cluster.columns[i].pages = std::span{cluster.pages}.subspan(begin, ends[i] - begin);
    begin = ends[i];
  }
}

void read_header(const DescriptionRecord& record, Description& into) {
  const auto bytes = unpacked_envelope(record.header, record.n_unpacked);
  auto from = envelope_content(bytes, EnvelopeType::header);
  into.header_checksum = checksum_of(bytes);
  require_known_features(from);
  into.name = from.text();
  static_cast<void>(from.text());  // a description
  static_cast<void>(from.text());  // the library that wrote it
  into.schema.add(from);
}

std::shared_ptr<const Description> read_description(const DescriptionRecord& record) {
  auto read = std::make_shared<Description>();
  naming_part("header", [&] { read_header(record, *read); });
  naming_part("footer", [&] { read->schema.add(RecordCursor{record.extension}); });
  read->columns = field_columns(read->schema);
  for (std::size_t i = 0; i < read->columns.size(); ++i) {
    read->by_name.emplace(read->columns[i].name, i);
  }
  return read;
}

/// The most recently used descriptions: files of some kinds may take turns.
class KnownDescriptions {
 public:
  std::shared_ptr<const Description> find(const DescriptionRecord& record) {
    const std::lock_guard lock{mutex_};
    const auto known = std::ranges::find(known_, record, &Known::first);
    if (known == known_.end()) {
      return nullptr;
    }
    known_.splice(known_.begin(), known_, known);
    return known->second;
  }
  void add(DescriptionRecord record, std::shared_ptr<const Description> description) {
    constexpr std::size_t n_most = 4;
    const std::lock_guard lock{mutex_};
    known_.emplace_front(std::move(record), std::move(description));
    if (known_.size() > n_most) {
      known_.pop_back();
    }
  }

 private:
  using Known = std::pair<DescriptionRecord, std::shared_ptr<const Description>>;
  std::mutex mutex_;
  std::list<Known> known_;
};

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
    throw Error("it is after the end of the file, which is truncated");
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

ByteRange range_of(const Page& page) {
  auto range = range_of(page.where);
  range.n_bytes += page.has_checksum ? static_cast<std::int64_t>(checksum_bytes) : 0;
  range.has_checksum = page.has_checksum;
  return range;
}

void add_clusters(RecordCursor from, std::uint64_t header_checksum, std::uint64_t n_file_bytes,
                  std::vector<Cluster>& clusters) {
  if (from.number<std::uint64_t>() != header_checksum) {
    throw Error("it belongs to another header");
  }
  auto summaries = list_frame(from);
  auto pages = list_frame(from);
  if (summaries.n_items != pages.n_items) {
    throw Error("it has not the pages of each cluster");
  }
  for (auto n = summaries.n_items; n > 0; --n) {
    auto cluster = parse_summary(record_frame(summaries.content).content);
    parse_columns(list_frame(pages.content), n_file_bytes, cluster);
    clusters.push_back(std::move(cluster));
  }
}

std::shared_ptr<const Description> description_of(DescriptionRecord record) {
  static KnownDescriptions known;
  auto found = known.find(record);
  if (!found) {
    found = read_description(record);
    known.add(std::move(record), found);
  }
  return found;
}

void require_known_features(RecordCursor& from) {
  for (std::int64_t features = -1; features < 0;) {
    features = from.number<std::int64_t>();
    if (features != 0) {
      throw Error("it uses a feature that this version of forkrun does not know; update forkrun");
    }
  }
}

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
