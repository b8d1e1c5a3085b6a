#include <forkrun/formats/ttree/layout/tree_record.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <TClonesArray.h>
#include <TFile.h>
#include <TKey.h>
#include <TNamed.h>
#include <TTree.h>

#include <forkrun/formats/root_file/object_record.hpp>
#include <forkrun/formats/testing/folder_test.hpp>
#include <forkrun/formats/ttree/layout/branch_layout.hpp>
#include <forkrun/formats/ttree/read/stored_branch.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>

namespace forkrun::root_io {

namespace {

/// Trees that ROOT has written; each test looks at them with ROOT's eyes and without.
class TreeRecordOf : public FolderTest {
 protected:
  /// Numbers, jagged ones, vectors, an object in parts and a list of objects; small baskets.
  std::string write(const std::string& name, int n_events, int most = 5) const {
    const auto file_path = path(name);
    const std::unique_ptr<TFile> file{TFile::Open(file_path.c_str(), "RECREATE")};
    TTree tree{"Events", "of all kinds"};
    constexpr int room = 64;
    int n = 0;
    std::vector<float> values(room);
    std::vector<double> vector;
    auto named = std::make_unique<TNamed>("name", "title");
    auto* object = named.get();
    TClonesArray list{"TNamed"};
    auto* objects = &list;
    constexpr int small = 1024;
    tree.Branch("n", &n, "n/I", small);
    tree.Branch("values", values.data(), "values[n]/F", small);
    tree.Branch("vector", &vector, small);
    tree.Branch("named", &object, small, 99);
    tree.Branch("list", &objects, small, 99);
    for (int event = 0; event < n_events; ++event) {
      n = event % (most + 1);
      vector.assign(static_cast<std::size_t>(n), event);
      list.Clear();
      new (list[0]) TNamed{"a", "b"};
      tree.Fill();
    }
    tree.Write();
    tree.SetDirectory(nullptr);
    return file_path;
  }

  static ObjectRecord record(TreeFile& file) {
    return read_object(file, *file.file().GetKey("Events"), "Events");
  }
  static std::string structure(const ObjectRecord& of) {
    auto parsed = parse_tree_record(of.bytes, of.key_length);
    EXPECT_TRUE(parsed);
    return parsed ? parsed->structure : "";
  }
};

TEST_F(TreeRecordOf, AllKindsOfBranchesSaysWhatROOTSays) {
  TreeFile file{write("a.root", 3000)};
  const auto object = record(file);
  const auto found = parse_tree_record(object.bytes, object.key_length);
  ASSERT_TRUE(found);
  TTree& tree = file.tree("Events");
  const auto branches = all_branches(tree).filled;
  const auto expected = baskets_of(tree, branches);
  EXPECT_EQ(found->baskets.n_entries, 3000);
  ASSERT_EQ(found->baskets.branches.size(), branches.size());
  ASSERT_EQ(found->filled.size(), branches.size());
  for (std::size_t i = 0; i < branches.size(); ++i) {
    const auto& [n_entries, baskets] = found->baskets.branches[i];
    EXPECT_EQ(n_entries, 3000) << branches[i]->GetName();
    ASSERT_EQ(baskets.size(), expected.branches[i].baskets.size()) << branches[i]->GetName();
    EXPECT_GT(baskets.size(), 2U) << branches[i]->GetName();
    for (std::size_t k = 0; k < baskets.size(); ++k) {
      EXPECT_EQ(baskets[k].first_entry, expected.branches[i].baskets[k].first_entry);
      EXPECT_EQ(baskets[k].seek, expected.branches[i].baskets[k].seek);
      EXPECT_EQ(baskets[k].n_bytes, expected.branches[i].baskets[k].n_bytes);
    }
    EXPECT_EQ(found->filled[i].largest_count, largest_count(*branches[i]));
  }
  EXPECT_EQ(found->filled[0].leaves.at(0)->largest, 5);
}

TEST_F(TreeRecordOf, TheSameBranchesHasTheSameStructure) {
  TreeFile one{write("a.root", 10)};
  TreeFile other{write("b.root", 2000, 9)};
  EXPECT_EQ(structure(record(one)), structure(record(other)));
}

TEST_F(TreeRecordOf, OtherBranchesHasAnotherStructure) {
  TreeFile one{write("a.root", 10)};
  const auto renamed = [&] {
    auto other = record(one);
    auto& bytes = other.bytes;
    const std::string_view name = "values";
    const auto at = std::ranges::search(bytes, std::as_bytes(std::span{name}));
    EXPECT_FALSE(at.empty());
    at.front() = std::byte{'w'};
    return other;
  }();
  EXPECT_NE(structure(record(one)), structure(renamed));
}

TEST_F(TreeRecordOf, WhateverIsDamagedIsReadOrRefused) {
  TreeFile file{write("a.root", 100)};
  const auto sound = record(file);
  for (std::size_t at = 0; at < sound.bytes.size(); ++at) {
    for (const auto value : {std::byte{0}, std::byte{0x40}, std::byte{0xff}}) {
      auto damaged = sound;
      damaged.bytes[at] = value;
      static_cast<void>(parse_tree_record(damaged.bytes, damaged.key_length));
    }
    auto cut = sound;
    cut.bytes.resize(at);
    EXPECT_FALSE(parse_tree_record(cut.bytes, cut.key_length));
  }
}

}  // namespace
}  // namespace forkrun::root_io
