#include <forkrun/formats/ttree/write/plain_tree.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <TBranch.h>
#include <TFile.h>
#include <TLeaf.h>
#include <TTree.h>

#include <forkrun/core/data/column.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/root_file/test_bytes.hpp>
#include <forkrun/formats/testing/folder_test.hpp>
#include <forkrun/formats/ttree/layout/leaf_form.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>
#include <forkrun/formats/ttree/write/branch_writer.hpp>
#include <forkrun/formats/ttree/write/root_tree.hpp>

namespace forkrun::root_io {

namespace {

const Compression compression = Compression::parse("zlib:1");
constexpr int compression_of_input = 404;

ColumnType array_of(ElementType element, Shape shape, std::vector<std::uint32_t> sizes) {
  ColumnType type{element, shape};
  std::ranges::copy(sizes, type.dimensions.begin());
  return type;
}

/// One of each type, in each shape that is not nested.
std::vector<ColumnDescription> all_columns() {
  std::vector<ColumnDescription> columns;
  for (int i = 0; i <= static_cast<int>(ElementType::float64); ++i) {
    const auto element = static_cast<ElementType>(i);
    const auto name = std::to_string(i);
    columns.push_back({"scalar" + name, {element, Shape::scalar}});
    columns.push_back({"Jet_" + name, {element, Shape::jagged}});
    columns.push_back({"array" + name, array_of(element, Shape::scalar, {3})});
    columns.push_back({"Track_" + name, array_of(element, Shape::jagged, {2, 4})});
  }
  return columns;
}

Column column_of(const ColumnDescription& of, std::size_t n_events) {
  Column column{of.type};
  std::size_t n_values = n_events;
  if (of.type.is_counted()) {
    const auto offsets = column.resize_offsets(n_events);
    for (std::size_t i = 0; i <= n_events; ++i) {
      offsets[i] = static_cast<std::int64_t>(i * (i + 1) / 2);
    }
    n_values = static_cast<std::size_t>(offsets[n_events]);
  }
  const auto n_bytes = n_values * of.type.n_in_item() * size_of(of.type.element);
  auto* bytes = column.resize_values(n_values * of.type.n_in_item());
  for (std::size_t i = 0; i < n_bytes; ++i) {
    bytes[i] = static_cast<std::byte>(i % 2);
  }
  return column;
}

void fill(RecordFile& file, WrittenTree& tree, const std::vector<ColumnDescription>& columns,
          const std::vector<std::size_t>& clusters) {
  std::vector<BranchWriter> writers;
  for (const auto& column : columns) {
    const auto counter = counter_name(column.name);
    if (column.type.is_counted() && !tree.has(counter)) {
      writers.emplace_back(tree.add_counter(counter), compression);
    }
    writers.emplace_back(tree.add({column.name, column.type}), compression);
  }
  std::int64_t n_entries = 0;
  for (const auto n_events : clusters) {
    const EntryRun all{0, static_cast<std::int64_t>(n_events)};
    std::size_t next = 0;
    std::vector<std::string> counted;
    for (const auto& column : columns) {
      const auto values = column_of(column, n_events);
      const auto counter = counter_name(column.name);
      if (column.type.is_counted() && std::ranges::count(counted, counter) == 0) {
        counted.push_back(counter);
        writers[next++].add_counts(values, {&all, 1});
      }
      writers[next++].add(values, {&all, 1});
    }
    for (auto& writer : writers) {
      writer.encode();
      writer.write(file);
    }
    n_entries += all.last;
  }
  for (auto& writer : writers) {
    writer.finish();
  }
  tree.write(n_entries);
  file.close();
}

void write_tree(const std::string& path, const std::string& tree,
                const std::vector<ColumnDescription>& columns,
                const std::vector<std::size_t>& clusters) {
  PlainFile file{path, compression};
  fill(file, *new_tree(file, tree, "", compression), columns, clusters);
}

class PlainTreeTest : public FolderTest {
 protected:
  void expect_as_root_writes(const std::vector<ColumnDescription>& columns,
                             const std::vector<std::size_t>& clusters) const {
    PlainFile ours{path("ours.root"), compression};
    fill(ours, *new_tree(ours, "Events", "a title", compression), columns, clusters);
    OutputFile theirs{path("theirs.root"), compression};
    fill(theirs, *new_tree(theirs, "Events", "a title", compression), columns, clusters);
    EXPECT_EQ(different_byte(path("ours.root"), path("theirs.root")), no_byte);
  }

  /// A tree of ROOT's own, with what a program may have set, and branches of several leaves.
  [[nodiscard]] std::string write_with_root() const {
    const auto file_path = path("input.root");
    TFile file{file_path.c_str(), "RECREATE", "", compression_of_input};
    TTree tree{"Events", "of another program"};
    tree.SetAutoFlush(17);
    tree.SetLineColor(3);
    tree.SetWeight(0.5);
    struct {
      float x{};
      std::int32_t y{};
    } pair;
    std::int32_t n = 0;
    std::vector<double> values(8);
    std::vector<char> text(8, 0);
    tree.Branch("pair", &pair, "x/F:y/I");
    tree.Branch("n", &n, "n/I")->SetBasketSize(1024);
    tree.Branch("values", values.data(), "values[n]/D")->SetTitle("with a title");
    tree.Branch("text", text.data(), "text/C");
    tree.Branch("other", &n, "other/I");
    for (int event = 0; event < 100; ++event) {
      n = event % 5;
      pair.y = event;
      tree.Fill();
    }
    tree.Write();
    tree.SetDirectory(nullptr);
    return file_path;
  }
};

TEST_F(PlainTreeTest, EveryTypeOfColumnIsAsRootWritesIt) {
  expect_as_root_writes(all_columns(), {5, 3});
}

TEST_F(PlainTreeTest, TreesWithoutEntriesOrBranchesAreAsRootWritesThem) {
  expect_as_root_writes(all_columns(), {});
  expect_as_root_writes({}, {});
}

TEST_F(PlainTreeTest, MoreBasketsThanThereIsRoomForAreAsRootWritesThem) {
  const std::vector<ColumnDescription> columns{{"x", {ElementType::float32, Shape::scalar}},
                                               {"Jet_pt", {ElementType::float64, Shape::jagged}}};
  for (const std::size_t n_clusters : {8, 9, 10, 11, 40}) {
    expect_as_root_writes(columns, std::vector<std::size_t>(n_clusters, 4));
  }
}

TEST_F(PlainTreeTest, LongNamesAreAsRootWritesThem) {
  const ColumnType type{ElementType::int16, Shape::scalar};
  expect_as_root_writes({{std::string(254, 'a'), type}, {std::string(255, 'b'), type}}, {2});
}

TEST_F(PlainTreeTest, BranchesOfAnotherTreeAreAsRootCopiesThem) {
  const TreeFile input{write_with_root()};
  const std::vector<std::vector<std::string>> kept{
      {"pair", "values", "n", "text", "other"}, {"values"}, {"other", "text"}, {}};
  for (const auto& names : kept) {
    const auto members = input.plain_members("Events");
    ASSERT_TRUE(members);
    PlainFile ours{path("ours.root"), compression};
    PlainTree our_tree{ours, "Events",
                       with_compression(with_branches(*members, names), compression), compression};
    OutputFile theirs{path("theirs.root"), compression};
    RootTree their_tree{theirs, theirs.folder(""), "Events", input.tree("Events"), names};
    const std::vector<ColumnDescription> added{{"new", {ElementType::uint8, Shape::scalar}}};
    fill(ours, our_tree, added, {});
    fill(theirs, their_tree, added, {});
    EXPECT_EQ(different_byte(path("ours.root"), path("theirs.root")), no_byte);
  }
}

TEST_F(PlainTreeTest, ATreeThatIsAddedToAFileIsThereBesideTheFirst) {
  const std::vector<ColumnDescription> first{{"Jet_pt", {ElementType::float32, Shape::jagged}}};
  const std::vector<ColumnDescription> second{{"x", {ElementType::int64, Shape::scalar}}};
  write_tree(path("a.root"), "Events", first, {5, 3});
  const auto before = bytes_without_uuids(path("a.root")).size();
  const auto added = reopen_with_trees(path("a.root"));
  fill(*added, *new_tree(*added, "Runs", "", compression), second, {2});
  EXPECT_GT(bytes_without_uuids(path("a.root")).size(), before);
  TFile file{path("a.root").c_str()};
  EXPECT_FALSE(file.TestBit(TFile::kRecovered));
  EXPECT_EQ(file.GetListOfKeys()->GetSize(), 2);
  EXPECT_EQ(file.Get<TTree>("Events")->GetEntries(), 8);
  EXPECT_EQ(file.Get<TTree>("Runs")->GetEntries(), 2);
  EXPECT_EQ(file.GetStreamerInfoList()->FindObject("TLeafL") != nullptr, true);
}

TEST_F(PlainTreeTest, AFileWithMoreThanPlainTreesIsNotReopened) {
  TFile{path("root.root").c_str(), "RECREATE"}.Close();
  EXPECT_EQ(reopen_with_trees(path("root.root")), nullptr);
  PlainFile file{path("named.root"), compression};
  file.add("note", "TNamed", "title", [](ObjectWriter& to) { to.named("note", "title"); });
  file.close();
  EXPECT_EQ(reopen_with_trees(path("named.root")), nullptr);
  write_tree(path("folder.root"), "inner/Events", {{"x", {ElementType::int64, Shape::scalar}}},
             {2});
  EXPECT_EQ(reopen_with_trees(path("folder.root")), nullptr);
}

TEST_F(PlainTreeTest, ABranchThatIsNotThereIsNamed) {
  try {
    static_cast<void>(with_branches({.name = "Events"}, {"Muon_pt"}));
    FAIL();
  } catch (const OutputError& error) {
    EXPECT_STREQ(error.what(), "tree \"Events\" has no branch \"Muon_pt\" to keep");
  }
}

TEST_F(PlainTreeTest, ARecordGivesBackWhatWasWritten) {
  PlainFile file{path("a.root"), compression};
  PlainTree tree{file, "Events", {.name = "Events", .title = "a title"}, compression};
  fill(file, tree, all_columns(), {5});
  const auto& expected = tree.members();
  const auto found = TreeFile{path("a.root")}.plain_members("Events");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->branches, expected.branches);
  EXPECT_EQ(found->title, expected.title);
  EXPECT_EQ(found->auto_flush, expected.auto_flush);
}

}  // namespace
}  // namespace forkrun::root_io
