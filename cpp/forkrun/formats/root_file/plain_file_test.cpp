#include <forkrun/formats/root_file/plain_file.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>

#include <TFile.h>
#include <TNamed.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/root_file/file_outline.hpp>

#include <forkrun/formats/testing/folder_test.hpp>

namespace forkrun::root_io {

namespace {

using PlainFileTest = FolderTest;

void add_note(PlainFile& file, const std::string& object_path, const std::string& title) {
  file.add(object_path, "TNamed", title, [&](ObjectWriter& to) { to.named("note", title); });
}

std::string title_in(const std::string& path, const char* name) {
  TFile file{path.c_str()};
  EXPECT_FALSE(file.IsZombie());
  EXPECT_FALSE(file.TestBit(TFile::kRecovered));
  const auto* note = file.Get<TNamed>(name);
  return note == nullptr ? "none" : note->GetTitle();
}

std::string bytes_of(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

template <typename Body>
std::string message_of(Body body) {
  try {
    body();
  } catch (const OutputError& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(PlainFileTest, HasTheSameBytesForTheSameContentAndAnotherUuidForAnother) {
  for (const auto* name : {"a", "b", "c"}) {
    PlainFile file{path(name), Compression::parse("zstd:1")};
    add_note(file, "folder/note", *name == 'c' ? "other" : "title");
    const auto size = static_cast<std::uintmax_t>(file.close());
    EXPECT_EQ(size, std::filesystem::file_size(path(name)));
  }
  constexpr std::size_t at_uuid = 47;
  EXPECT_EQ(bytes_of(path("a")), bytes_of(path("b")));
  EXPECT_NE(bytes_of(path("a")).substr(at_uuid, 16), bytes_of(path("c")).substr(at_uuid, 16));
  EXPECT_EQ(title_in(path("a"), "folder/note"), "title");
}

TEST_F(PlainFileTest, RootReadsAndExtendsFilesOfMoreThanTwoGigabytes) {
  constexpr std::int32_t n_unused = 2'000'000'000;
  {
    PlainFile file{path("large"), Compression::parse("zlib:1")};
    add_note(file, "near", "before");
    std::array<std::byte, sizeof n_unused> mark{};
    put_big_endian(mark.data(), -n_unused);
    file.write(file.allocate(n_unused), mark);  // the file has a hole there
    add_note(file, "folder/far", std::string(1000, 'a'));
    add_note(file, "folder/inner/further", "behind");
    EXPECT_GT(file.close(), n_unused);
  }
  const TNamed added{"added", "by ROOT"};
  {
    TFile file{path("large").c_str(), "UPDATE"};
    EXPECT_FALSE(file.TestBit(TFile::kRecovered));
    file.WriteTObject(&added);
  }
  EXPECT_EQ(title_in(path("large"), "near"), "before");
  EXPECT_EQ(title_in(path("large"), "folder/far"), std::string(1000, 'a'));
  EXPECT_EQ(title_in(path("large"), "folder/inner/further"), "behind");
  EXPECT_EQ(title_in(path("large"), "added"), "by ROOT");
}

TEST_F(PlainFileTest, ReplacesAFileThatSomebodyStillReads) {
  std::ofstream{path("a")} << "old";
  std::ifstream old{path("a")};
  PlainFile{path("a"), Compression::parse("none")}.close();
  const std::string text{std::istreambuf_iterator<char>{old}, {}};
  EXPECT_EQ(text, "old");
  EXPECT_TRUE(bytes_of(path("a")).starts_with("root"));
}

TEST_F(PlainFileTest, TwoObjectsOfOneNameAreAnError) {
  PlainFile file{path("a"), Compression::parse("none")};
  add_note(file, "x/note", "");
  EXPECT_EQ(message_of([&] { add_note(file, "x/note", ""); }),
            path("a") + ": two objects or folders are called \"note\" in one folder");
  EXPECT_EQ(message_of([&] { add_note(file, "x", ""); }),
            path("a") + ": two objects or folders are called \"x\" in one folder");
  EXPECT_EQ(message_of([&] { add_note(file, "x//y", ""); }),
            path("a") + ": \"x//y\" has a part without a name");
}

TEST_F(PlainFileTest, ANameThatIsTooLongForAKeyIsAnError) {
  PlainFile file{path("a"), Compression::parse("none")};
  const std::string name(40'000, 'n');
  EXPECT_EQ(message_of([&] { add_note(file, name, ""); }),
            path("a") + ": name and title of \"" + name.substr(0, 40) +
                "…\" have more than 32 kB together, which a ROOT file cannot hold");
}

TEST_F(PlainFileTest, WhatCannotBeOpenedIsAnErrorThatSaysWhy) {
  const auto nowhere = path("nowhere/a");
  EXPECT_EQ(message_of([&] { PlainFile{nowhere, {}}; }),
            nowhere + ": cannot be opened: No such file or directory");
}

TEST_F(PlainFileTest, AReadThatFailsIsNotTakenForAnotherForm) {
  PlainFile file{path("a"), Compression::parse("zstd:1")};
  add_note(file, "note", "title");
  const auto n_bytes = file.close();
  const auto bytes = bytes_of(path("a"));
  for (int n_good = 0;; ++n_good) {
    int n_reads = 0;
    const auto read = [&](std::int64_t place, std::span<std::byte> into) {
      if (n_reads++ == n_good) {
        throw InputError("the disk does not answer");
      }
      std::ranges::copy(std::as_bytes(std::span{bytes}).subspan(place, into.size()), into.begin());
      return true;
    };
    const auto look = [&] {
      const auto outline = FileOutline::of(n_bytes, read);
      return outline && outline->object(outline->keys().at(0)).has_value();
    };
    constexpr int n_needed = 4;  // header, directory, keys, object
    if (n_good == n_needed) {
      EXPECT_TRUE(look());
      break;
    }
    EXPECT_THROW(static_cast<void>(look()), InputError);
  }
}

}  // namespace
}  // namespace forkrun::root_io
