#include <forkrun/formats/ttree/read/input_tree.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <TFile.h>
#include <TLeaf.h>
#include <TNamed.h>
#include <TTree.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/root_file/file_outline.hpp>
#include <forkrun/formats/testing/folder_test.hpp>
#include <forkrun/formats/ttree/layout/tree_record.hpp>
#include <forkrun/formats/ttree/read/branch_reader.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>
#include <forkrun/formats/ttree/read/unpacked_room.hpp>

namespace forkrun::root_io {

namespace {

constexpr int n_events = 500;

struct Written {
  bool is_flushed =
      true;  ///< all baskets have records of their own; else some are within the tree's
  std::string folder{};
  int n_events = root_io::n_events;
  int compression = 101;
};

/// Values of an event of each kind of branch.
struct Event {
  explicit Event(TTree& tree) {
    constexpr int small = 512;
    tree.Branch("flag", &flag, "flag/O", small);
    tree.Branch("byte", &byte, "byte/b", small);
    tree.Branch("n", &n, "n/I", small);
    tree.Branch("shorts", shorts.data(), "shorts[n]/S", small);
    tree.Branch("long", &number, "long/l", small);
    tree.Branch("matrix", matrix.data(), "matrix[2][3]/D", small);
    tree.Branch("pairs", pairs.data(), "pairs[n][2]/F", small);
    tree.Branch("several", several.data(), "a/I:b/I", small);
    tree.Branch("text", text.data(), "text/C", small);
    tree.Branch("string", &string, small, 0);
    tree.Branch("floats", &floats, small, 0);
    tree.Branch("ids", &ids, small, 0);
    tree.Branch("lists", &lists, small, 0);
    tree.Branch("named", &object, small, 99);
  }
  void fill(TTree& tree, int event) {
    n = event % 4;
    flag = event % 2 == 0;
    byte = static_cast<unsigned char>(event);
    number = static_cast<std::uint64_t>(event) << 40U;
    string = std::string(static_cast<std::size_t>(n), 'x');
    std::snprintf(text.data(), text.size(), "%d", event);
    floats.assign(static_cast<std::size_t>(n), static_cast<float>(event));
    ids.assign(1, event);
    lists.assign(static_cast<std::size_t>(n), floats);
    tree.Fill();
  }

  int n{};
  bool flag{};
  unsigned char byte{};
  std::uint64_t number{};
  std::vector<short> shorts = std::vector<short>(8);
  std::vector<double> matrix = std::vector<double>(6, 1.5);
  std::vector<float> pairs = std::vector<float>(16, 2.5F);
  std::vector<int> several = {1, 2};
  std::vector<char> text = std::vector<char>(16);
  std::string string;
  std::vector<float> floats;
  std::vector<unsigned> ids;
  std::vector<std::vector<float>> lists;
  std::unique_ptr<TNamed> named = std::make_unique<TNamed>("name", "title");
  TNamed* object = named.get();
};

/// Trees that ROOT has written, read with it and without.
class TreeWithoutROOT : public FolderTest {
 protected:
  std::string write(const Written& how = {}) const {
    const auto file_path = path("a.root");
    const std::unique_ptr<TFile> file{
        TFile::Open(file_path.c_str(), "RECREATE", "", how.compression)};
    auto* place = how.folder.empty() ? file.get() : file->mkdir(how.folder.c_str());
    place->cd();
    TTree tree{"Events", "of all kinds"};
    Event event{tree};
    for (int i = 0; i < how.n_events; ++i) {
      event.fill(tree, i);
    }
    if (how.is_flushed) {
      tree.FlushBaskets();
    }
    place->WriteTObject(&tree);
    tree.SetDirectory(nullptr);
    return file_path;
  }

  static std::vector<std::byte> bytes_of(const std::string& path) {
    std::vector<std::byte> bytes(std::filesystem::file_size(path));
    std::ifstream{path, std::ios::binary}.read(reinterpret_cast<char*>(bytes.data()),
                                               static_cast<std::streamsize>(bytes.size()));
    return bytes;
  }

  /// Whatever the bytes of a file are.
  static void parse(const std::vector<std::byte>& bytes) {
    const auto outline =
        FileOutline::of(static_cast<std::int64_t>(bytes.size()),
                        [&](std::int64_t place, std::span<std::byte> into) {
                          std::copy_n(bytes.begin() + place, into.size(), into.begin());
                          return true;
                        });
    const auto key = outline ? outline->find("Events") : std::nullopt;
    if (const auto object = key ? outline->object(*key) : std::nullopt) {
      static_cast<void>(parse_tree_record(*object, key->key_length, {.tops = true}));
    }
  }
};

void expect_same(const StoredBranch& found, const StoredBranch& expected) {
  const auto& name = expected.layout.name;
  EXPECT_EQ(found.layout.name, name);
  EXPECT_EQ(found.layout.column, expected.layout.column) << name;
  EXPECT_EQ(found.layout.type_name, expected.layout.type_name) << name;
  EXPECT_EQ(found.layout.counter, expected.layout.counter) << name;
  EXPECT_EQ(found.layout.header_bytes, expected.layout.header_bytes) << name;
  EXPECT_EQ(found.layout.has_offsets, expected.layout.has_offsets) << name;
  EXPECT_EQ(found.is_split, expected.is_split) << name;
  EXPECT_EQ(found.n_entries, expected.n_entries) << name;
  EXPECT_EQ(found.n_told_bytes, expected.n_told_bytes) << name;
  ASSERT_EQ(found.baskets.size(), expected.baskets.size()) << name;
  for (std::size_t i = 0; i < found.baskets.size(); ++i) {
    EXPECT_EQ(found.baskets[i].number, expected.baskets[i].number) << name;
    EXPECT_EQ(found.baskets[i].seek, expected.baskets[i].seek) << name;
    EXPECT_EQ(found.baskets[i].n_bytes, expected.baskets[i].n_bytes) << name;
    EXPECT_EQ(found.baskets[i].first_entry, expected.baskets[i].first_entry) << name;
    EXPECT_EQ(found.baskets[i].n_entries, expected.baskets[i].n_entries) << name;
  }
  ASSERT_EQ(found.of_tree.size(), expected.of_tree.size()) << name;
  for (const auto& [number, basket] : expected.of_tree) {
    EXPECT_EQ(found.of_tree.at(number).n_entries, basket.n_entries) << name;
    EXPECT_EQ(found.of_tree.at(number).entries, basket.entries) << name;
    EXPECT_EQ(found.of_tree.at(number).offsets, basket.offsets) << name;
  }
}

/// Gives the number of baskets that are within the tree's record.
std::size_t expect_same_tree(const std::string& path, const std::string& name) {
  EXPECT_TRUE(is_plain_tree(path, name));
  TreeFile file{path};
  const auto& found = file.input_tree(name);
  const auto expected = tree_of_root(file.tree(name), name, file);
  EXPECT_EQ(file.identity().uuid, file.file().GetUUID().AsString());
  EXPECT_EQ(found.name(), expected->name());
  EXPECT_EQ(found.n_entries(), n_events);
  EXPECT_EQ(found.branch_names(), expected->branch_names());
  std::size_t n_of_tree = 0;
  for (const auto& branch : expected->branches()) {
    expect_same(found.branch(branch.layout.name), branch);
    n_of_tree += branch.of_tree.size();
  }
  return n_of_tree;
}

TEST_F(TreeWithoutROOT, SaysWhatROOTSays) { EXPECT_EQ(expect_same_tree(write(), "Events"), 0U); }

TEST_F(TreeWithoutROOT, HasItsLastBaskets) {
  EXPECT_GT(expect_same_tree(write({.is_flushed = false}), "Events"), 10U);
}

TEST_F(TreeWithoutROOT, IsFoundInAFolder) {
  EXPECT_EQ(expect_same_tree(write({.folder = "some/folder"}), "some/folder/Events"), 0U);
}

TEST_F(TreeWithoutROOT, IsTheNewestOfItsName) {
  const auto path = write();
  {
    const std::unique_ptr<TFile> file{TFile::Open(path.c_str(), "UPDATE")};
    int x = 0;
    TTree tree{"Events", "another"};
    tree.Branch("x", &x, "x/I");
    file->WriteTObject(&tree);
    tree.SetDirectory(nullptr);
  }
  TreeFile file{path};
  EXPECT_EQ(file.input_tree("Events").branch_names(), std::vector<std::string>{"x"});
}

/// The number in an entry.
std::uint64_t number_at(BranchReader& reader, std::int64_t entry) {
  Column column;
  reader.read(entry, entry + 1, column);
  return column.values<std::uint64_t>()[0];
}

TEST_F(TreeWithoutROOT, ReadsBasketsOnceThatHaveRoomToStayUnpacked) {
  TreeFile file{write()};
  file.keep_unpacked(std::make_shared<UnpackedRoom>(1 << 20));
  BranchReader reader{file.input_tree("Events").branch("long"), file};
  ASSERT_GT(reader.baskets().size(), 3U);
  std::vector<std::int64_t> n_bytes_read;
  for (int lumi = 0; lumi < 3; ++lumi) {
    for (std::int64_t entry = lumi; entry < n_events; entry += 3) {
      EXPECT_EQ(number_at(reader, entry), static_cast<std::uint64_t>(entry) << 40U);
      reader.forget();
    }
    n_bytes_read.push_back(file.read_bytes());
  }
  EXPECT_EQ(n_bytes_read[1], n_bytes_read[0]);
  EXPECT_EQ(n_bytes_read[2], n_bytes_read[0]);
}

TEST_F(TreeWithoutROOT, SharesBasketsThatStayUnpackedAmongThreads) {
  const auto path = write();
  const auto room = std::make_shared<UnpackedRoom>(1 << 20);
  std::atomic<std::int64_t> n_bytes_read = 0;
  const auto read_all = [&] {
    TreeFile file{path};
    file.keep_unpacked(room);
    BranchReader reader{file.input_tree("Events").branch("long"), file};
    const auto n_bytes_before = file.read_bytes();
    for (std::int64_t lumi = 0; lumi < 3; ++lumi) {
      for (std::int64_t entry = lumi; entry < n_events; entry += 3) {
        EXPECT_EQ(number_at(reader, entry), static_cast<std::uint64_t>(entry) << 40U);
      }
    }
    n_bytes_read += file.read_bytes() - n_bytes_before;
  };
  TreeFile file{path};
  file.keep_unpacked(room);
  const BranchReader holder{file.input_tree("Events").branch("long"), file};
  std::int64_t n_bytes_once = 0;
  for (const auto& basket : holder.baskets()) {
    n_bytes_once += basket.seek == 0 ? 0 : basket.n_bytes;
  }
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back(read_all);
    }
  }
  EXPECT_EQ(n_bytes_read, n_bytes_once);
}

TEST_F(TreeWithoutROOT, ReadsBasketsAgainThatHaveNoRoom) {
  TreeFile file{write()};
  const auto room = std::make_shared<UnpackedRoom>(600);
  file.keep_unpacked(room);
  {
    BranchReader reader{file.input_tree("Events").branch("long"), file};
    static_cast<void>(number_at(reader, 0));
    static_cast<void>(number_at(reader, n_events / 2));
    const auto n_bytes_read = file.read_bytes();
    EXPECT_EQ(number_at(reader, 1), std::uint64_t{1} << 40U);
    EXPECT_EQ(file.read_bytes(), n_bytes_read);
    EXPECT_EQ(number_at(reader, n_events / 2), static_cast<std::uint64_t>(n_events / 2) << 40U);
    EXPECT_GT(file.read_bytes(), n_bytes_read);
    EXPECT_FALSE(room->take(600));
    EXPECT_EQ(room->n_branches(), 1U);
  }
  EXPECT_TRUE(room->take(600));
  EXPECT_EQ(room->n_branches(), 0U);
}

TEST_F(TreeWithoutROOT, KeepsSomeEntriesUnpackedByTheirRanks) {
  TreeFile file{write()};
  file.keep_unpacked(std::make_shared<UnpackedRoom>(1 << 20));
  const auto ranks = std::make_shared<EntryRanks>(n_events);
  std::vector<std::int64_t> entries;
  for (std::int64_t entry = 0; entry < n_events; ++entry) {
    const bool is_in_first_half = entry < n_events / 2;  // of which baskets stay as they are
    if (is_in_first_half || entry % 7 < 2) {
      ranks->add(entry, entry + 1);
      entries.push_back(entry);
    }
  }
  ranks->count();
  for (const auto* name : {"long", "matrix", "shorts", "string", "lists"}) {
    const auto& tree = file.input_tree("Events");
    BranchReader all{tree.branch(name), file};
    BranchReader some{tree.branch(name), file};
    some.keep_only(ranks);
    for (auto rank = static_cast<std::int64_t>(entries.size()); rank-- > 0;) {
      const auto entry = entries[static_cast<std::size_t>(rank)];
      EXPECT_TRUE(std::ranges::equal(some.basket_at(rank).entries(rank, rank + 1),
                                     all.basket_at(entry).entries(entry, entry + 1)));
    }
  }
}

TEST_F(TreeWithoutROOT, IsReadByROOTWhereItIsUnusual) {
  const auto path = write();
  EXPECT_FALSE(is_plain_tree(path, "Others"));
  TreeFile file{path};
  EXPECT_THROW(static_cast<void>(file.input_tree("Others")), InputError);
  auto bytes = bytes_of(path);
  bytes.push_back(std::byte{0});
  std::ofstream{path, std::ios::binary}.write(reinterpret_cast<const char*>(bytes.data()),
                                              static_cast<std::streamsize>(bytes.size()));
  EXPECT_FALSE(is_plain_tree(path, "Events"));
}

TEST_F(TreeWithoutROOT, IsReadOrRefusedWhateverIsDamaged) {
  const auto sound = bytes_of(write({.is_flushed = false, .n_events = 9, .compression = 0}));
  for (std::size_t at = 0; at < sound.size(); ++at) {
    auto damaged = sound;
    for (const auto value : {std::byte{0}, std::byte{0x40}, std::byte{0xff}}) {
      damaged[at] = value;
      parse(damaged);
    }
  }
  for (std::size_t size = 0; size < sound.size(); ++size) {
    parse({sound.begin(), sound.begin() + static_cast<std::ptrdiff_t>(size)});
  }
}

TEST_F(TreeWithoutROOT, ATreeWithALeafThatIsMissingIsDamaged) {
  {
    TFile file{path("leafless.root").c_str(), "RECREATE"};
    TTree tree{"Events", ""};
    float value = 0;
    tree.Branch("value", &value);
    tree.Fill();
    tree.GetListOfLeaves()->AddAt(nullptr, 0);
    tree.GetListOfLeaves()->AddAtAndExpand(tree.GetBranch("value")->GetLeaf("value"), 1);
    tree.Write();
    tree.SetDirectory(nullptr);
  }
  const TreeFile file{path("leafless.root")};
  try {
    static_cast<void>(file.tree("Events"));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string{error.what()}.find("leaf 0 is of no branch"), std::string::npos);
  }
}

}  // namespace
}  // namespace forkrun::root_io
