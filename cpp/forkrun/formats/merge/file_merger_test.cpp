#include <forkrun/formats/merge/file_merger.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include <TFile.h>
#include <TTree.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/source/event_table.hpp>
#include <forkrun/formats/testing/folder_test.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>

namespace forkrun::root_io {

namespace {

class FolderOfFiles : public FolderTest {
 protected:
  /// A tree in folders, written by ROOT alone: x = first … first + n - 1.
  std::string write_tree(const std::string& name, int first, int n) const {
    const std::unique_ptr<TFile> file{TFile::Open(path(name).c_str(), "RECREATE")};
    file->mkdir("ntuple/deep");
    file->GetDirectory("ntuple/deep")->cd();
    TTree tree{"Events", "in folders"};
    int x = 0;
    tree.Branch("x", &x, "x/I");
    for (x = first; x < first + n; ++x) {
      tree.Fill();
    }
    tree.Write();
    tree.SetDirectory(nullptr);
    return path(name);
  }
};

using FileMerger = FolderOfFiles;

TEST_F(FileMerger, KeepsTreesInTheirFolders) {
  const std::vector inputs{write_tree("a.root", 0, 3), write_tree("b.root", 10, 2)};
  const auto entries = merge_files({inputs, path("merged.root"), {}, {}, {}});
  EXPECT_EQ(entries, (std::map<std::string, std::int64_t>{{"ntuple/deep/Events", 5}}));
  OpenTree tree{path("merged.root"), "ntuple/deep/Events"};
  const auto columns = tree.read({"x"}, 0, -1);
  const auto values = columns.at(0).values<std::int32_t>();
  EXPECT_EQ((std::vector<std::int32_t>{values.begin(), values.end()}),
            (std::vector<std::int32_t>{0, 1, 2, 10, 11}));
}

TEST_F(FileMerger, OfATreeThatIsNowhereIsAnErrorAndLeavesNoFile) {
  const auto input = write_tree("a.root", 0, 3);
  EXPECT_THROW(
      merge_files({{input}, path("merged.root"), std::vector<std::string>{"Event"}, {}, {}}),
      InputError);
  EXPECT_FALSE(std::filesystem::exists(path("merged.root")));
}

TEST_F(FileMerger, IsToldOfTreesInFolders) {
  const TreeFile file{write_tree("a.root", 0, 1)};
  try {
    static_cast<void>(file.tree("Events"));
    FAIL() << "there is no such tree";
  } catch (const InputError& error) {
    EXPECT_NE(std::string{error.what()}.find("its trees are: ntuple/deep/Events"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace forkrun::root_io
