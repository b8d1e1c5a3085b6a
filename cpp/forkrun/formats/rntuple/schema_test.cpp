#include <forkrun/formats/rntuple/schema.hpp>

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/rntuple/field_column.hpp>
#include <forkrun/formats/rntuple/ntuple.hpp>
#include <forkrun/formats/rntuple/write/record_writer.hpp>

namespace forkrun::rntuple {

namespace {

void put_field(RecordWriter& to, std::uint32_t parent, FieldRole role, const char* name,
               const char* type, std::uint16_t flags = 0) {
  to.record([&] {
    to.numbers(0U, 0U, parent, static_cast<std::uint16_t>(role), flags);
    for (const auto* text : {name, type, "", ""}) {
      to.text(text);
    }
  });
}

void put_column(RecordWriter& to, Encoding encoding, std::uint16_t n_bits, std::uint32_t field) {
  to.record([&] {
    to.numbers(static_cast<std::uint16_t>(encoding), n_bits, field, std::uint16_t{0},
               std::uint16_t{0});
  });
}

/// `event`, and a list `Jet` of records with `pt`; `Jet_pt` shows it.
RecordWriter jets(std::uint16_t flags_of_event = 0) {
  RecordWriter to;
  to.list(5, [&] {
    put_field(to, 0, FieldRole::leaf, "event", "std::uint64_t", flags_of_event);
    put_field(to, 1, FieldRole::collection, "Jet", "");
    put_field(to, 1, FieldRole::record, "_0", "");
    put_field(to, 2, FieldRole::leaf, "pt", "float");
    put_field(to, 4, FieldRole::leaf, "weight", "double");
  });
  to.list(4, [&] {
    put_column(to, Encoding::uint64, 64, 0);
    put_column(to, Encoding::split_index64, 64, 1);
    put_column(to, Encoding::split_real32, 32, 3);
    put_column(to, Encoding::real32_truncated, 20, 4);
  });
  to.list(0, [] {});
  to.list(0, [] {});
  return to;
}

Schema schema_of(const RecordWriter& written) {
  Schema schema;
  schema.add(RecordCursor{written.bytes()});
  return schema;
}

std::string error_of(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

/// One cluster of 3 entries with two pages of a column, the second with a checksum.
RecordWriter page_list(std::int32_t n_of_second, std::uint64_t place_of_second) {
  RecordWriter to;
  to.number(std::uint64_t{7});
  to.list(1, [&] { to.record([&] { to.numbers(std::uint64_t{0}, std::uint64_t{3}); }); });
  to.list(1, [&] {
    to.list(1, [&] {
      to.list(2, [&] {
        to.numbers(std::int32_t{2}, std::int32_t{8}, std::uint64_t{100});
        to.numbers(n_of_second, std::int32_t{4}, place_of_second);
        to.numbers(std::int64_t{0}, std::uint32_t{505});
      });
    });
  });
  return to;
}

}  // namespace

TEST(RecordCursor, FramesArePassedOverByTheirSize) {
  RecordWriter to;
  to.record([&] { to.numbers(std::uint32_t{1}, std::uint32_t{2}); });
  to.number(std::uint32_t{3});
  RecordCursor from{to.bytes()};
  EXPECT_EQ(record_frame(from).content.number<std::uint32_t>(), 1U);
  EXPECT_EQ(from.number<std::uint32_t>(), 3U);
  EXPECT_EQ(error_of([&] { from.skip(1); }), "it is cut short");
}

TEST(RecordCursor, AnEnvelopeWithAnotherByteIsRefused) {
  RecordWriter to;
  to.text("content");
  auto bytes = envelope(EnvelopeType::footer, to.bytes());
  EXPECT_EQ(envelope_content(bytes, EnvelopeType::footer).text(), "content");
  EXPECT_NE(error_of([&] { static_cast<void>(envelope_content(bytes, EnvelopeType::header)); }),
            "none");
  bytes[10] ^= std::byte{1};
  EXPECT_NE(error_of([&] { static_cast<void>(envelope_content(bytes, EnvelopeType::footer)); }),
            "none");
}

TEST(Schema, FieldsAndColumnsFindEachOther) {
  const auto schema = schema_of(jets());
  EXPECT_EQ(schema.fields[1].children, std::vector<std::uint32_t>{2});
  EXPECT_EQ(schema.fields[3].columns, std::vector<std::uint32_t>{2});
  std::vector<std::string> names;
  for (const auto& column : field_columns(schema)) {
    names.push_back(column.name + " " + column.type->name() + " " + column.counter);
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"event uint64 ", "Jet.pt float32[] nJet", "weight float64 ",
                                      "nJet uint32 ", "Jet_pt float32[] nJet"}));
}

TEST(Schema, WhatIsNewerThanTheReaderIsRefused) {
  constexpr std::uint16_t structure_of_arrays = 8;
  EXPECT_NE(error_of([] { schema_of(jets(structure_of_arrays)); }).find("update forkrun"),
            std::string::npos);
  const auto whole = jets();
  for (std::size_t n = 0; n < whole.bytes().size() - 24; n += 5) {
    Schema schema;
    EXPECT_NE(error_of([&] { schema.add(RecordCursor{whole.bytes().first(n)}); }), "none") << n;
  }
}

TEST(Clusters, PagesSayWhetherTheyHaveChecksums) {
  std::vector<Cluster> clusters;
  const auto list = page_list(-1, 108);
  add_clusters(RecordCursor{list.bytes()}, 7, 120, clusters);
  ASSERT_EQ(clusters.size(), 1U);
  const auto& column = clusters[0].columns.at(0);
  EXPECT_EQ(column.n_values, 3U);
  EXPECT_EQ(column.compression, 505U);
  EXPECT_FALSE(column.pages[0].has_checksum);
  EXPECT_TRUE(column.pages[1].has_checksum);
  EXPECT_EQ(column.pages[1].n_values, 1U);
}

TEST(Clusters, APageBehindTheEndOfTheFileIsRefused) {
  std::vector<Cluster> clusters;
  const auto list = page_list(-1, 109);  // its checksum would end one byte behind
  EXPECT_EQ(error_of([&] { add_clusters(RecordCursor{list.bytes()}, 7, 120, clusters); }),
            "a page is after the end of the file, which is truncated");
  EXPECT_EQ(error_of([&] { add_clusters(RecordCursor{list.bytes()}, 8, 120, clusters); }),
            "it belongs to another header");
}

}  // namespace forkrun::rntuple
