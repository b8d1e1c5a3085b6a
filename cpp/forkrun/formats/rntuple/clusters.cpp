#include <forkrun/formats/rntuple/clusters.hpp>

#include <forkrun/core/data/errors.hpp>

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
    throw Error("a page is behind the end of the file, which is truncated");
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

}  // namespace forkrun::rntuple
