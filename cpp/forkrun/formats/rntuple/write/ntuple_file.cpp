#include <forkrun/formats/rntuple/write/ntuple_file.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include <forkrun/bytes/big_endian.hpp>
#include <forkrun/bytes/xxh3.hpp>
#include <forkrun/bytes/zip.hpp>
#include <forkrun/formats/rntuple/schema.hpp>
#include <forkrun/formats/rntuple/write/record_writer.hpp>
#include <forkrun/formats/root_file/key.hpp>

namespace forkrun::rntuple {

namespace {

/// A schema with other numbers of fields and columns. `columns`: the new number of each column.
struct Renumbered {
  Schema schema;
  std::vector<std::uint32_t> columns;
};

void put_in_order(const Schema& schema, std::uint32_t field, std::vector<std::uint32_t>& order) {
  order.push_back(field);
  for (const auto child : schema.fields[field].children) {
    put_in_order(schema, child, order);
  }
}

std::vector<std::uint32_t> fields_in_order(const Schema& schema) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t field = 0; field < schema.fields.size(); ++field) {
    if (schema.fields[field].parent == field) {
      put_in_order(schema, field, order);
    }
  }
  return order;
}

/// Place of each element in an order.
std::vector<std::uint32_t> places_in(const std::vector<std::uint32_t>& order) {
  std::vector<std::uint32_t> places(order.size());
  for (std::uint32_t place = 0; place < order.size(); ++place) {
    places[order[place]] = place;
  }
  return places;
}

void renumber(std::vector<std::uint32_t>& numbers, const std::vector<std::uint32_t>& places) {
  for (auto& number : numbers) {
    number = places[number];
  }
}

/// Numbers fields depth first, each followed by all that is in it, and columns in the order of
/// their fields. The format allows any order, but hadd takes this one for granted.
Renumbered depth_first(const Schema& schema) {
  const auto fields = fields_in_order(schema);
  const auto field_places = places_in(fields);
  std::vector<std::uint32_t> columns;
  for (const auto field : fields) {
    if (!schema.fields[field].source) {
      const auto& own = schema.fields[field].columns;
      columns.insert(columns.end(), own.begin(), own.end());
    }
  }
  Renumbered made{{}, places_in(columns)};
  made.schema.class_records = schema.class_records;
  for (const auto number : fields) {
    auto field = schema.fields[number];
    field.parent = field_places[field.parent];
    renumber(field.children, field_places);
    renumber(field.columns, made.columns);
    if (field.source) {
      field.source = field_places[*field.source];
    }
    made.schema.fields.push_back(std::move(field));
  }
  for (const auto number : columns) {
    auto column = schema.columns[number];
    column.field = field_places[column.field];
    made.schema.columns.push_back(column);
  }
  return made;
}

/// Last name of a path in the file.
std::string_view own_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

void put_page(RecordWriter& to, const Page& page) {
  to.number(-static_cast<std::int32_t>(page.n_values));  // it has a checksum
  to.locator(page.where);
}

}  // namespace

void NtupleFile::put_pages(RecordWriter& to, const WrittenColumn& column,
                           std::uint64_t first_value) {
  to.list(column.pages.size(), [&] {
    for (const auto& page : column.pages) {
      put_page(to, page);
    }
    to.numbers(static_cast<std::int64_t>(first_value), column.compression);
  });
}

NtupleFile::NtupleFile(root_io::PlainFile& file, std::string ntuple, const Schema& schema,
                       Compression compression)
    : file_{file},
      path_{std::move(ntuple)},
      compression_{compression},
      chunk_of_page_(schema.columns.size()),
      n_before_group_(schema.columns.size()) {
  auto numbered = depth_first(schema);
  number_in_file_ = std::move(numbered.columns);
  RecordWriter content;
  put_header(content, own_name(path_), numbered.schema);
  const auto header = envelope(EnvelopeType::header, content.bytes());
  header_checksum_ = checksum_of(header);
  header_ = write_envelope(header);
  cluster_.columns.resize(number_in_file_.size());
}

Locator NtupleFile::write_blob(std::span<const std::byte> payload) {
  root_io::Key key{.type = "RBlob", .name = "", .title = "", .place = file_.allocate(0)};
  key.directory = file_.seek_directory();
  key.n_object_bytes = payload.size();
  key.n_stored_bytes = payload.size();
  const auto head = key.bytes();
  file_.write(file_.allocate(head.size()), head);
  const auto place = file_.allocate(payload.size());
  file_.write(place, payload);
  return {static_cast<std::uint64_t>(place), payload.size()};
}

std::pair<Locator, std::uint64_t> NtupleFile::write_envelope(std::span<const std::byte> bytes) {
  return {write_blob(stored(bytes, compression_)), bytes.size()};
}

/// Puts a page into the present chunk, unless the cluster has the same one. Large pages are not
/// compared: identical ones have one value, or few, and become small.
NtupleFile::PlaceInChunk NtupleFile::place_of(std::span<const std::byte> page) {
  constexpr std::size_t most_small_bytes = 512, wanted_chunk_bytes = 8U << 20U;
  if (chunk_.size() > 0 && chunk_.size() + page.size() > wanted_chunk_bytes) {
    write_chunk();
  }
  const PlaceInChunk place{chunks_.size(), chunk_.size()};
  if (page.size() <= most_small_bytes) {
    const std::string_view bytes{reinterpret_cast<const char*>(page.data()), page.size()};
    if (const auto known = small_.find(bytes); known != small_.end()) {
      return known->second;
    }
    small_.emplace(bytes, place);
  }
  std::ranges::copy(page, chunk_.extend(page.size()));
  return place;
}

void NtupleFile::add_page(std::size_t given, const SealedPage& page, int compression) {
  const auto column = number_in_file_[given];
  const auto [chunk, begin] = place_of(page.bytes);
  auto& pages = cluster_.columns[column];
  if (page.digest) {
    samples_.push_back({n_clusters_, column, pages.pages.size(), *page.digest});
  }
  pages.compression = static_cast<std::uint32_t>(compression);
  pages.pages.push_back({page.n_values, true, {begin, page.bytes.size() - checksum_bytes}});
  pages.n_values += page.n_values;
  chunk_of_page_[column].push_back(chunk);
  ++n_pages_;
}

void NtupleFile::write_chunk() {
  if (chunk_.size() > 0) {
    chunks_.push_back(write_blob(chunk_.view()).place);
    chunk_.clear();
  }
}

void NtupleFile::end_cluster(std::uint64_t n_entries) {
  constexpr std::size_t most_pages_in_group = 1U << 20U;
  write_chunk();
  for (std::size_t column = 0; column < cluster_.columns.size(); ++column) {
    auto& pages = cluster_.columns[column].pages;
    for (std::size_t i = 0; i < pages.size(); ++i) {
      pages[i].where.place += chunks_[chunk_of_page_[column][i]];
    }
    chunk_of_page_[column].clear();
  }
  cluster_.first_entry = n_entries_;
  cluster_.n_entries = n_entries;
  n_entries_ += n_entries;
  ++n_clusters_;
  clusters_.push_back(std::move(cluster_));
  cluster_ = {};
  cluster_.columns.resize(number_in_file_.size());
  small_.clear();
  chunks_.clear();
  if (n_pages_ >= most_pages_in_group) {
    write_group();
  }
}

/// The page list of the clusters that have none yet.
void NtupleFile::write_group() {
  if (clusters_.empty()) {
    return;
  }
  RecordWriter list;
  list.number(header_checksum_);
  list.list(clusters_.size(), [&] {
    for (const auto& cluster : clusters_) {
      list.record([&] { list.numbers(cluster.first_entry, cluster.n_entries); });
    }
  });
  list.list(clusters_.size(), [&] {
    for (const auto& cluster : clusters_) {
      list.list(cluster.columns.size(), [&] {
        for (std::size_t column = 0; column < cluster.columns.size(); ++column) {
          put_pages(list, cluster.columns[column], n_before_group_[column]);
          n_before_group_[column] += cluster.columns[column].n_values;
        }
      });
    }
  });
  const auto [where, n_unpacked] = write_envelope(envelope(EnvelopeType::page_list, list.bytes()));
  const auto first = clusters_.front().first_entry;
  groups_.push_back(
      {first, n_entries_ - first, static_cast<std::uint32_t>(clusters_.size()), where, n_unpacked});
  clusters_.clear();
  n_pages_ = 0;
}

void NtupleFile::finish() {
  write_group();
  RecordWriter footer;
  footer.numbers(std::uint64_t{}, header_checksum_);  // no features
  put_no_extension(footer);
  footer.list(groups_.size(), [&] {
    for (const auto& group : groups_) {
      footer.record([&] {
        footer.numbers(group.first_entry, group.n_entries, group.n_clusters, group.n_unpacked);
        footer.locator(group.where);
      });
    }
  });
  footer.list(0, [] {});  // attributes
  write_anchor(write_envelope(envelope(EnvelopeType::footer, footer.bytes())));
}

/// Big-endian, as objects of ROOT are. Its checksum is after the bytes that its length counts.
void NtupleFile::write_anchor(const std::pair<Locator, std::uint64_t>& footer) {
  constexpr std::uint64_t most_record_bytes = 1U << 30U;
  root_io::ObjectWriter members{0};
  members.numbers(std::uint16_t{1}, std::uint16_t{0}, std::uint16_t{2}, std::uint16_t{0});
  for (const auto& [where, n_unpacked] : {header_, footer}) {
    members.numbers(where.place, where.n_bytes, n_unpacked);
  }
  members.number(most_record_bytes);
  file_.add(path_, "ROOT::RNTuple", "", [&](root_io::ObjectWriter& to) {
    constexpr std::int16_t class_version = 2;
    to.object(class_version, [&] { to.raw(members.bytes()); });
    to.number(xxh3(members.bytes()));
  });
}

}  // namespace forkrun::rntuple
